// Writes the types of the runner's API into the client, from the OpenAPI document of a runner that it starts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const bowline = resolve(process.env.BOWLINE ?? "../../../target/debug/bowline");
const folder = await mkdtemp(join(tmpdir(), "api-"));
const daemon = spawn(bowline, ["serve"], { env: { ...process.env, BOWLINE_STATE_DIR: folder }, stdio: ["ignore", "pipe", "inherit"] });
try {
  await once(createInterface({ input: daemon.stdout }), "line");
  const sent = request({ socketPath: join(folder, "runner.sock"), path: "/openapi.json", headers: { host: "localhost" } });
  sent.end();
  const [response] = await once(sent, "response");
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  const head = "/** The runner's API, as its OpenAPI document has it: `npm run generate` writes this file. */\n";
  await writeFile("client/src/api.ts", head + typesOf(JSON.parse(text).components.schemas));
} finally {
  daemon.kill();
  await once(daemon, "exit");
  await rm(folder, { recursive: true, force: true });
}

/** Returns a type for each schema of the document. */
function typesOf(schemas) {
  const names = Object.keys(schemas).sort();
  return names.map((name) => `\n${comment(schemas[name], "")}export type ${name} = ${typeOf(schemas[name], "")};\n`).join("");
}

function comment({ description }, indent) {
  if (!description) return "";
  const lines = description.replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

function typeOf(schema, indent) {
  if (schema === true || Object.keys(schema).length === 0) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((it) => JSON.stringify(it)).join(" | ");
  const union = schema.oneOf ?? schema.anyOf;
  if (union) return union.map((it) => `(${typeOf(it, indent)})`).join(" | ");
  if (schema.allOf) return schema.allOf.map((it) => `(${typeOf(it, indent)})`).join(" & ");
  const types = [schema.type].flat().map((it) => plainType(it, schema, indent));
  return types.join(" | ");
}

function plainType(type, schema, indent) {
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "integer":
    case "number":
      return "number";
    case "array":
      if (schema.prefixItems) return `readonly [${schema.prefixItems.map((it) => typeOf(it, indent)).join(", ")}]`;
      return `readonly (${typeOf(schema.items ?? true, indent)})[]`;
    case "object":
      return objectType(schema, indent);
    default:
      return "unknown";
  }
}

function objectType({ properties, required = [], additionalProperties }, indent) {
  if (!properties) return `Readonly<Record<string, ${typeOf(additionalProperties || true, indent)}>>`;
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) => {
    const key = /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
    return `${comment(schema, inner)}${inner}readonly ${key}${required.includes(name) ? "" : "?"}: ${typeOf(schema, inner)};\n`;
  });
  return `{\n${members.join("")}${indent}}`;
}
