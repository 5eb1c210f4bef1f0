// The operator's page: a secret is copied, and names in a list are suggested. Both also work by hand.
(() => {
  "use strict";
  for (const button of document.querySelectorAll("[data-copy]")) {
    const code = button.previousElementSibling;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        const said = document.createElement("p");
        said.textContent = button.dataset.copy;
        document.getElementById("announcement").replaceChildren(said);
      } catch {
        // Not allowed: it is selected, for the keyboard.
        window.getSelection().selectAllChildren(code);
      }
    });
  }

  // Browsers suggest whole values: each begins with the names before the last comma.
  for (const field of document.querySelectorAll("input[list]")) {
    const options = [...field.list.options];
    const names = options.map((option) => option.value);
    field.addEventListener("input", () => {
      const before = field.value.slice(0, field.value.lastIndexOf(",") + 1);
      options.forEach((option, index) => { option.value = before + (before && " ") + names[index]; });
    });
  }
})();
