//! The user's settings. The command is no library: its reader is compiled here once more.

#[path = "../../../../crates/cli/src/settings/file.rs"]
mod file;
#[expect(dead_code, reason = "the command applies and explains settings")]
#[path = "../../../../crates/cli/src/settings/table.rs"]
mod table;

use table::Setting;

use super::whole;
use crate::guided::Target;

pub(super) static CONFIG: Target = Target {
    name: "config",
    what: "an error names a line of the file, and settings are read again as they are written",
    longest: 500,
    seeds: || Ok(SEEDS.map(|it| it.as_bytes().to_vec()).to_vec()),
    dictionary: &[
        b"\n",
        b"=",
        b"\"",
        b"'''",
        b"[",
        b"]",
        b"#",
        b"true",
        b"\\u001b",
        b"\\u007f",
        b"agent = \"",
        b"[chat]\n",
        b"[serve]\n",
        b"no_runner = ",
        b"listen = [",
        b"1979-05-27",
        b"0x7f",
        b"{ a = 1 }",
        b"\xc3\xa9",
    ],
    repair: whole,
    check: || {
        Ok(Box::new(|input| {
            std::str::from_utf8(input).map_or(Ok(()), check)
        }))
    },
};

const SEEDS: [&str; 4] = [
    "# mine\nagent = \"codex\"\nrunner.url = 'unix:/run/x'\n",
    "model = \"a\\tb\\u001b\"\n[chat]\nno_runner = true\n",
    "[serve]\nlisten = [\"127.0.0.1:1\", \"[::1]:2\"]\norigin = []\n",
    "agent.x = 1\n[[chat]]\n\"chat.no_runner\" = false\n",
];

/// A setting with the values of the file, and the line that sets it.
#[derive(Debug)]
struct SetValue {
    setting: &'static Setting,
    values: Vec<String>,
    line: usize,
}

fn check(text: &str) -> Result<(), String> {
    let lines = text.matches('\n').count() + 1;
    let set = match file::read(text) {
        Ok(set) => set,
        Err(reason) => {
            let line = reason.split(':').next();
            let line = line.and_then(|it| it.parse::<usize>().ok());
            return match line {
                Some(line) if (1..=lines).contains(&line) => Ok(()),
                _ => Err(format!("{reason}: the file has {lines} lines")),
            };
        }
    };
    for SetValue {
        setting,
        values,
        line,
    } in &set
    {
        if *line > lines {
            return Err(format!("{} in line {line} of {lines}", setting.key));
        }
        let key = setting.key;
        let literal = setting
            .literal(values)
            .ok_or_else(|| format!("{key} has no value"))?;
        let again = file::read(&format!("{key} = {literal}"))?;
        if again.len() != 1 || again.iter().any(|it| it.values != *values) {
            return Err(format!("{key} = {literal} is read as {again:?}"));
        }
    }
    Ok(())
}
