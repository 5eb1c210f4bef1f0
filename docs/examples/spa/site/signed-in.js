// The end of the popup: tells the application, wherever it is, and goes.

import { changes } from "./session.js";

changes.postMessage("changed");
// Messages that were posted are delivered although the window goes. Where a browser will not close it, its text stays.
window.close();
