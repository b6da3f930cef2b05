/**
 * Sessions at a Bowline runner.
 *
 * `Client` calls the runner's API, `Transcript` is kept up to date by the changes that `Client.changes` yields.
 *
 * @packageDocumentation
 */
export { Backoff } from "./backoff.js";
export { Client } from "./client.js";
export { RunnerError } from "./error.js";
export { follow } from "./events.js";
export { EventParser } from "./sse.js";
export { Transcript, entryBytes } from "./transcript.js";
