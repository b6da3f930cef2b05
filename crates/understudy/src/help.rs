//! The text of `--help`.

/// The text of `--help`.
pub(crate) const HELP: &str = "\
A scripted stand-in for a coding agent: it speaks the stream-json of the Claude Code CLI, the
protocol of `codex app-server`, or the Agent Client Protocol.

Usage: understudy [--dialect claude|codex|acp] [--play FILE [--speed X] [--exit CODE]] [--scenario FILE|NAME] [--pace X]
                  [any flag of the real CLI] [PROMPT]

  --dialect NAME     protocol on stdin and stdout: claude (default), codex or acp (version 1); with
                     codex and acp, flags and words of those agents are ignored
  --state DIR        keep the conversations of codex and acp in this folder, so that a later process
                     resumes or loads them with their past
  --play FILE        print a recording (.jsonl or .jsonl.gz) byte for byte, then exit
  --speed X          play at X times the recorded pace (timestamps, else 50 lines a second)
  --exit CODE        exit code after --play (default 0)
  --scenario FILE    play a scenario (TOML or JSON, see SCENARIOS.md)
  --scenario NAME    play a built-in scenario: demo, echo
  --pace X           factor on every delay: 1 natural, 0 none (or UNDERSTUDY_PACE)
  --version, --help

UNDERSTUDY_VERSION=X.Y.Z behaves as that version of the real CLI: it refuses newer flags, and
sends no text of foreground sub-agents before 2.1.131.

Honoured flags of the real CLI: --resume, --continue, --fork-session, --session-id,
--include-partial-messages, --replay-user-messages, --permission-prompt-tool stdio,
--forward-subagent-text, --model, --permission-mode, --dangerously-skip-permissions,
--input-format text, --settings (its hooks run). Every other flag is accepted and ignored.

Without a scenario each prompt is answered by a short text. A prompt may also begin with
  /tool COMMAND      a Bash call that succeeds
  /fail COMMAND      a Bash call that fails
  /ask COMMAND       a Bash call that open_requests for permission first
  /agent TASK        a sub-agent with a sub-agent of its own
  /background TASK   a sub-agent in the background
  /think TEXT        a thinking block and a text block
  /retry             an API retry with an abandoned draft
  /error             an API failure (the turn ends with is_error)
  /sleep SECONDS     a Bash call that takes so long
  /lines N           a text of N lines
  /big BYTES         a text of that size
  /clear             a new conversation with a new session id
  /hang              nothing more
  /exit CODE         exit at once
Example:
  echo '{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"/tool ls\"}}' | understudy
";
