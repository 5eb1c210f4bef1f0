// The end of the popup: notifies the application and closes.

import { changes } from "./session.js";

changes.postMessage("changed");
// The message is delivered even though the window closes. If the browser keeps the window, its text stays.
window.close();
