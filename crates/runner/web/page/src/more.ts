// What the first view has no need of, in a file of its own.
export { Help, Palette } from "./views/palette.js";
export { Past } from "./views/past.js";
export { PastGroup } from "./views/past_group.js";
export { Start } from "./views/start.js";
export { exportHtml, exportMarkdown } from "./text/export.js";
export { Inspector } from "./views/inspector.js";
export { TerminalView } from "./views/terminal.js";
export { TimelineStrip } from "./views/timeline.js";
