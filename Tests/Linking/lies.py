"""What a verifier may say that is no answer, each with the reason that Bramley's log gives for it: the lie itself, and
nothing that was wrong with it before."""

from gate import DOWN, says, status

JSON = {"Content_Type": "application/json"}
# What would be believed if the rest of the answer were as it should be.
BELIEVED = b'{"result":"success","externalID":"acc_1"}'


def words(content: bytes) -> tuple:
    """Said to be JSON, whatever it is."""
    return status(200, content, **JSON)


def factor(methods, challenge="c") -> tuple:
    return says({"result": "twoFactorAuthRequired", "challenge": challenge, "methods": methods})


def whole(content: bytes, length: int | None = None, more: bytes = b"") -> bytes:
    """An answer as it goes over the wire."""
    return (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + more
            + b"Content-Length: %d\r\n\r\n%s" % (length or len(content), content))


# To a question with a password or a code in it.
LIES = {
    "no JSON": (words(b"success"), "the answer is not JSON: "),
    "empty": (words(b""), "the answer is not JSON: "),
    "not said to be JSON": (status(200, BELIEVED), "the answer's Content-Type"),
    "a page": (status(200, BELIEVED, Content_Type="text/html"), "the answer's Content-Type"),
    "a list": (says([]), "the answer is not a JSON object"),
    "a word": (says("success"), "the answer is not a JSON object"),
    "null": (says(None), "the answer is not a JSON object"),
    "nothing said": (says({}), "the answer has no result"),
    "an unknown word": (says({"result": "SUCCESS", "externalID": "1"}), "an unknown result"),
    "a number for a word": (says({"result": 1, "externalID": "1"}), "the answer has no result"),
    "success of nobody": (says({"result": "success"}), "success without a usable externalID"),
    "success of null": (says({"result": "success", "externalID": None}), "success without a usable externalID"),
    "success of an empty ID": (says({"result": "success", "externalID": ""}), "success without a usable externalID"),
    "success of a number": (says({"result": "success", "externalID": 42}), "externalID is not a string"),
    "success of a list": (says({"result": "success", "externalID": ["acc_1"]}), "externalID is not a string"),
    "success of an ID too long": (
        says({"result": "success", "externalID": "x" * 256}), "success without a usable externalID"),
    "success of control characters": (
        says({"result": "success", "externalID": "a\u0000b"}), "success without a usable externalID"),
    "a factor without a challenge": (
        says({"result": "twoFactorAuthRequired", "methods": ["totp"]}), "twoFactorAuthRequired without a usable challenge"),
    "a challenge that is a number": (factor([], challenge=1), "challenge is not a string"),
    "an empty challenge": (factor([], challenge=""), "twoFactorAuthRequired without a usable challenge"),
    "a long challenge": (factor([], challenge="x" * 1025), "twoFactorAuthRequired without a usable challenge"),
    "too many methods": (factor(["totp"] * 9), "twoFactorAuthRequired with unusable methods"),
    "a long method": (factor(["x" * 33]), "twoFactorAuthRequired with unusable methods"),
    "an empty method": (factor([""]), "twoFactorAuthRequired with unusable methods"),
    "a method that is a number": (factor(["totp", 7]), "methods is not a list of strings"),
    "methods that are a word": (factor("totp"), "methods is not a list"),
    "twice the word": (words(b'{"result":"failure","result":"success","externalID":"acc_1"}'), "the answer is not JSON: "),
    "too long": (words(b'{"result":"failure"}' + b" " * 16384), "the answer is too long"),
    "no UTF-8": (words(b'{"result":"failure","x":"\xff"}'), "the answer is not JSON: "),
    "two documents": (words(b'{"result":"failure"}' + BELIEVED), "the answer is not JSON: "),
    "an error": (status(500, BELIEVED, **JSON), "status 500"),
    "a refusal": (status(401, BELIEVED, **JSON), "status 401"),
    "another": (status(403, BELIEVED, **JSON), "status 403"),
    "nothing there": (status(404, BELIEVED, **JSON), "status 404"),
    "busy": (status(503, BELIEVED, Retry_After="1", **JSON), "status 503"),
    "a success without content": (status(204), "status 204"),
    "created": (status(201, BELIEVED, **JSON), "status 201"),
    "a redirect": (status(302, BELIEVED, Location="/elsewhere", **JSON), "a redirect, status 302"),
    "a redirect that repeats": (status(307, BELIEVED, Location="/verifier", **JSON), "a redirect, status 307"),
    "no HTTP": (("raw", b"hello\r\n\r\n"), "no HTTP answer: "),
    "half an answer": (("raw", whole(BELIEVED, length=100)), "closed before the answer was whole"),
    "a huge head": (("raw", whole(BELIEVED, more=b"x: y\r\n" * 100_000)), "the answer is too long"),
    "down": (DOWN, "closed before the answer was whole"),
}
# `convert` has two answers, 204 and 409, and reads no content: these are neither.
UNANSWERED = {name: LIES[name] for name in (
    "an error", "a refusal", "nothing there", "created", "a redirect that repeats", "no HTTP", "half an answer", "down")} | {
    "nothing said": (says({}), "status 200"),
    "success in words": (words(BELIEVED), "status 200"),
    "failure in words": (says({"result": "failure"}), "status 200"),
}
