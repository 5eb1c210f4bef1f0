// Sends the form on at once; the button stays for browsers without scripts.
document.getElementById("repost").submit();
