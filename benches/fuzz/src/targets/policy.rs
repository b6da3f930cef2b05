//! Policies, and the requests that they decide on.

use super::whole;
use crate::guided::Target;

/// A policy, and after a NUL byte each a tool's name and its input.
pub(super) static POLICY: Target = Target {
    name: "policy",
    what: "an error names a line of the policy, and more rules never allow what fewer deny",
    longest: 900,
    seeds: || {
        let with = |request: &str| [POLICY_TEXT.as_bytes(), request.as_bytes()].concat();
        Ok(REQUESTS.iter().map(|it| with(it)).collect())
    },
    dictionary: &[
        b"[[rule]]\n",
        b"decision = \"allow\"\n",
        b"decision = \"ask\"\n",
        b"decision = \"deny\"\n",
        b"default = \"deny\"\n",
        b"tool = \"*\"\n",
        b"path = \"/srv/**\"\n",
        b"path = \"~/*\"\n",
        b"command = \"git *\"\n",
        b"host = \"*.example\"\n",
        b"\0Bash\0{\"command\":\"",
        b"\0Read\0{\"file_path\":\"",
        b"\0WebFetch\0{\"url\":\"",
        b"../",
        b"$(",
        b"`",
        b" && ",
        b"; ",
        b"| ",
        b"'",
        b"\\\"",
        b"\\\\",
        b"<<E\\n",
        b"#",
    ],
    repair: whole,
    check: || Ok(Box::new(bowline_lifecycle::fuzz::policy)),
};

const POLICY_TEXT: &str = r#"default = "deny"
[[rule]]
decision = "deny"
command = ["rm -rf *", "curl *"]
message = "use trash"
[[rule]]
decision = "allow"
tool = ["Read", "Grep"]
path = ["/srv/app/**", "~/notes/*"]
[[rule]]
decision = "ask"
host = "*.example"
[[rule]]
name = "git"
decision = "allow"
command = "git *"
"#;

const REQUESTS: [&str; 6] = [
    "\0Bash\0{\"command\":\"git status && rm -rf /\"}",
    "\0Bash\0{\"command\":\"FOO=1 env sh -c 'git log | cat' <<E\\nx\\nE\"}",
    "\0Read\0{\"file_path\":\"/srv/app/../../etc/passwd\"}",
    "\0WebFetch\0{\"url\":\"https://user@a.example:443/x\"}",
    "\0Glob\0{\"pattern\":\"~/notes/*\"}",
    "\0Edit\0{\"paths\":[\"a\",\"/srv/app/b\"],\"permissions\":{}}",
];
