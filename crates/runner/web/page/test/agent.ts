// The real agent with a scripted API, for tests in Chromium.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Runner } from "./runner.js";

const program = process.env["SCRIPTED_API"];

/** Why tests with the real agent are left out. */
export const skip = program === undefined && "left out: the real agent; run .ci/agents";

/** What the agent is started with, as `scripted-api` prints it. */
interface Setup {
  readonly agent: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly prompts: readonly string[];
}

/** A runner whose agent is the real one. The model says what a scenario says (`tests/src/real_agent/scenario.rs`). */
export class RealAgent {
  private constructor(
    readonly runner: Runner,
    readonly setup: Setup,
    readonly api: ChildProcess,
  ) {}

  static async start(scenario: string): Promise<RealAgent> {
    const api = spawn(program!, [scenario], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = once(api, "exit").then(() => Promise.reject(new Error(`scripted-api ${scenario} ended; its standard error says why`)));
    const [line] = (await Promise.race([once(createInterface({ input: api.stdout! }), "line"), ended])) as [string];
    ended.catch(() => undefined);
    const setup = JSON.parse(line) as Setup;
    // The runner finds past conversations where the agent keeps them.
    const runner = await Runner.start({ CLAUDE_CONFIG_DIR: setup.environment["CLAUDE_CONFIG_DIR"]! });
    const exports = Object.entries(setup.environment).map(([name, value]) => `export ${name}='${value}'\n`);
    writeFileSync(runner.agent, `#!/bin/sh\n${exports.join("")}exec '${setup.agent}' "$@"\n`);
    chmodSync(runner.agent, 0o700);
    return new RealAgent(runner, setup, api);
  }

  /** Lets what waits at a gate of the scenario go on. */
  open(gate: string): void {
    this.api.stdin!.write(`${gate}\n`);
  }

  async stop(): Promise<void> {
    await this.runner.stop();
    const exit = once(this.api, "exit");
    this.api.stdin!.end();
    await exit;
  }
}
