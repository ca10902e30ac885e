// The page of a conversation that is to be printed.

import { $ } from "./dom.js";
import { localiseTimes } from "./moments.js";
import { startPrinting } from "./printing.js";

localiseTimes();
startPrinting();
$("#print").addEventListener("click", () => print());
