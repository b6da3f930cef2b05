//! The start-up files that the campaign tries.

use bowline_transport::LoginSource::{self, Inherited, Interactive, Login};

/// One start-up file.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) shell: &'static str,
    pub(super) text: &'static str,
    /// The query mode that must succeed, or `None` if that depends on the shell.
    pub(super) source: Option<LoginSource>,
    /// The exact value that must be set if the query succeeds.
    pub(super) sets: &'static [(&'static str, &'static [u8])],
    pub(super) lacks: &'static [&'static str],
}

const GIVEN: &[(&str, &[u8])] = &[("GIVEN", b"given")];

const fn bash(name: &'static str, text: &'static str, source: LoginSource) -> Kind {
    let (shell, sets) = ("/bin/bash", GIVEN);
    Kind {
        name,
        shell,
        text,
        source: Some(source),
        sets,
        lacks: &[],
    }
}

const fn dash(name: &'static str, text: &'static str, source: LoginSource) -> Kind {
    Kind {
        shell: "/bin/sh",
        ..bash(name, text, source)
    }
}

pub(super) static KINDS: &[Kind] = &[
    bash("plain", "export GIVEN=given", Interactive),
    bash("a hang", "export GIVEN=given; sleep 300", Inherited),
    bash(
        "a hang for people",
        "export GIVEN=given; case $- in *i*) sleep 300;; esac",
        Login,
    ),
    bash(
        "another shell in its place",
        "export GIVEN=given; exec /bin/sh",
        Inherited,
    ),
    bash(
        "another shell for people",
        "export GIVEN=given; case $- in *i*) exec /bin/sh;; esac",
        Login,
    ),
    bash(
        "junk",
        "export GIVEN=given; echo junk; echo GIVEN=junk; echo more >&2",
        Interactive,
    ),
    bash(
        "escapes",
        "export GIVEN=given; printf '\\033]0;title\\007\\033[?25l\\033[2J'",
        Interactive,
    ),
    Kind {
        sets: &[("LINES_OF", b"one\ntwo=2\n\nfour"), ("GIVEN", b"given")],
        ..bash(
            "values of many lines",
            "export GIVEN=given LINES_OF=$'one\\ntwo=2\\n\\nfour'",
            Interactive,
        )
    },
    bash(
        "a job in the background",
        "export GIVEN=given; sleep 300 &",
        Interactive,
    ),
    bash(
        "a daemon",
        "export GIVEN=given; (nohup setsid sleep 300 >/dev/null 2>&1 &)",
        Interactive,
    ),
    bash(
        "many daemons",
        "export GIVEN=given; for i in {1..60}; do setsid sleep 300 & done",
        Interactive,
    ),
    bash("an exit", "export GIVEN=given; exit 1", Inherited),
    bash(
        "an exit for people",
        "export GIVEN=given; case $- in *i*) exit 1;; esac",
        Login,
    ),
    bash(
        "a question",
        "export GIVEN=given; read -r -p 'name? ' name",
        Interactive,
    ),
    bash("set -e", "export GIVEN=given; set -e; false", Inherited),
    bash("kill -9 $$", "export GIVEN=given; kill -9 $$", Inherited),
    bash(
        "kill -STOP $$",
        "export GIVEN=given; kill -STOP $$",
        Inherited,
    ),
    bash(
        "much output",
        "export GIVEN=given; head -c 50000000 /dev/zero",
        Interactive,
    ),
    Kind {
        source: None,
        ..bash("ulimit -n", "export GIVEN=given; ulimit -n 5", Inherited)
    },
    Kind {
        source: None,
        ..bash("ulimit -v", "export GIVEN=given; ulimit -v 5000", Inherited)
    },
    Kind {
        lacks: &["PATH"],
        ..bash("no PATH", "export GIVEN=given; unset PATH", Interactive)
    },
    bash(
        "other tools",
        "export GIVEN=given; shopt -s expand_aliases; alias env=false printf=false; \
         env() { :; }; printf() { :; }",
        Interactive,
    ),
    bash(
        "tools replaced by their paths",
        "export GIVEN=given; function /usr/bin/env { :; }",
        Inherited,
    ),
    Kind {
        sets: &[
            ("BASH_FUNC_greet%%", b"() {  echo \"a\n b\"\n}"),
            ("GIVEN", b"given"),
        ],
        ..bash(
            "a function that is exported",
            "export GIVEN=given; greet() { echo \"a\n b\"; }; export -f greet",
            Interactive,
        )
    },
    Kind {
        sets: &[("ODD", b"\xff\xfe\x01=")],
        ..bash(
            "bytes that are no text",
            "export ODD=$'\\xff\\xfe\\x01='",
            Interactive,
        )
    },
    bash(
        "input from the terminal",
        "export GIVEN=given; exec </dev/tty",
        Interactive,
    ),
    bash(
        "a trap at the exit",
        "export GIVEN=given; trap 'sleep 300' EXIT",
        Interactive,
    ),
    bash(
        "deaf to signals",
        "export GIVEN=given; trap '' TERM HUP INT QUIT; (sleep 300; sleep 300) &",
        Interactive,
    ),
    bash(
        "stty",
        "export GIVEN=given; stty sane; stty -echo",
        Interactive,
    ),
    bash(
        "a multiplexer",
        "export GIVEN=given; [ -n \"$MUX\" ] || { export MUX=1; exec /bin/bash -l; }",
        Inherited,
    ),
    bash(
        "a loop",
        "export GIVEN=given; while :; do :; done",
        Inherited,
    ),
    bash(
        "our descriptor closed",
        "export GIVEN=given; exec 9>&-",
        Inherited,
    ),
    bash(
        "junk on our descriptor",
        "export GIVEN=given; echo GIVEN=junk >&9",
        Interactive,
    ),
    bash(
        "output elsewhere",
        "export GIVEN=given; exec >/dev/null 2>&1",
        Interactive,
    ),
    bash(
        "prompts",
        "export GIVEN=given; PS1='\\u$(sleep 300)'; PROMPT_COMMAND='sleep 300'; set -u",
        Interactive,
    ),
    bash(
        "a syntax error",
        "export GIVEN=given\nif then fi (",
        Interactive,
    ),
    bash(
        "traces",
        "export GIVEN=given; PS4='+ $(echo trace) '; set -x -v",
        Interactive,
    ),
    bash(
        "a value over all limits",
        "export GIVEN=given BIG=$(head -c 3000000 /dev/zero | tr '\\0' x)",
        Inherited,
    ),
    bash(
        "an outer agent",
        "export GIVEN=given CLAUDECODE=1 BOWLINE_SESSION=x",
        Interactive,
    ),
    dash("dash", "export GIVEN=given", Interactive),
    dash("dash that exits", "export GIVEN=given; exit 3", Inherited),
    dash(
        "dash that reads",
        "export GIVEN=given; read -r x; cat",
        Interactive,
    ),
    dash(
        "dash that asks for job control",
        "export GIVEN=given; set -m; sleep 300 &",
        Interactive,
    ),
    Kind {
        shell: "/bin/false",
        ..bash("no shell", "", Inherited)
    },
    Kind {
        shell: "/no/such/shell",
        ..bash("a shell that is missing", "", Inherited)
    },
];
