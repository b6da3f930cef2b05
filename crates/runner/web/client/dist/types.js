/** The transcript as JSON, schema 2, and its changes: `crates/reducer/SCHEMA.md`. */
export {};
