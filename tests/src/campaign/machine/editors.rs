//! Editors that are killed at random moments of a turn, and the ones that load their sessions afterwards.

mod editor;
mod pipe;

use std::time::Duration;

use bowline_transport::Remote;
use bytes::Bytes;
use serde_json::json;

use super::driven::DIALECTS;
use super::station::Station;
use crate::campaign::hidden::AGENT;
use crate::campaign::support::{describe, left_after, own, run_to_end, token, within};
use crate::campaign::{Job, Random, Report};
use crate::script::write_script;
use editor::{CALL, Editor, Shown};
pub(super) use pipe::{EDITOR, pipe};

/// Kills in one session. The next one has an agent of another protocol.
const KILLS_PER_SESSION: u64 = 6;

/// Latest kill after what an editor did last, in microseconds. A turn takes some milliseconds.
const KILL_WITHIN_US: u64 = 12_000;

/// How long the processes of a session may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// What the agent says in each turn, before and after it asks.
const BEFORE: &str = "It asks first. ";
const AFTER: &str = "It was allowed. ";

pub(crate) fn run(job: &Job) -> Report {
    run_to_end(job, campaign)
}

async fn campaign(job: &Job, report: &mut Report) -> Result<(), String> {
    let mut random = Random::new(job.seed);
    let station = Station::new().await?;
    let (mut left, mut prompts) = (job.count, 0);
    for dialect in DIALECTS.into_iter().cycle() {
        if left == 0 {
            break;
        }
        let kills = left.min(KILLS_PER_SESSION);
        match session(&mut random, &station, dialect, kills).await {
            Ok(shown) => prompts += shown,
            Err(error) => report.violation(format!("{dialect}: {error}")),
        }
        report.done += kills;
        left -= kills;
    }
    report.note(format!("{prompts} prompts shown once each"));
    Ok(())
}

/// Kills the editors of one session, and ends it. Returns the number of its prompts.
async fn session(
    random: &mut Random,
    station: &Station,
    dialect: &str,
    kills: u64,
) -> Result<usize, String> {
    let mut session = Session::start(random, station, dialect).await?;
    for _ in 0..kills {
        session.kill_one(random).await?;
    }
    let prompts = session.settle().await?;
    session.end(&station.remote()).await?;
    Ok(prompts)
}

/// When an editor is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// While it loads the session.
    Loading,
    /// Some time after it sent a prompt.
    Prompted,
    /// When it was asked.
    Asked,
    /// Some time after it answered.
    Answered,
    /// When its prompt was answered.
    Done,
}

impl Moment {
    const ALL: [Self; 5] = [
        Self::Loading,
        Self::Prompted,
        Self::Asked,
        Self::Answered,
        Self::Done,
    ];
}

/// A prompt that was sent.
struct Prompt {
    text: String,
    /// Whether an editor has seen that the session has it.
    is_known: bool,
}

/// A session, and the part of it that its editors have shown.
struct Session<'a> {
    station: &'a Station,
    /// Stands on the command lines of the session's processes.
    token: String,
    query: String,
    id: String,
    prompts: Vec<Prompt>,
    /// What the last editor saw.
    seen: Shown,
}

impl<'a> Session<'a> {
    async fn start(
        random: &mut Random,
        station: &'a Station,
        dialect: &str,
    ) -> Result<Self, String> {
        let token = token(random);
        let scenario = station.folder().join(format!("{token}.toml"));
        let script = format!(
            "fold = false\n[[turn]]\nrepeat = true\nsteps = [ {{ text = \"{BEFORE}\" }},\n\
             {{ tool = {{ name = \"Bash\", input = {{ command = \"make\" }}, ask = true, result = \"made\",\n\
             allowed = [ {{ text = \"{AFTER}\" }} ] }} }} ]\n"
        );
        std::fs::write(&scenario, script).map_err(|error| error.to_string())?;
        let agent = station.folder().join(&token);
        let program = own();
        let script = format!(
            "#!/bin/sh\nexec '{}' {AGENT} --dialect {dialect} --pace 0 --scenario '{}' \"$@\"\n",
            program.display(),
            scenario.display(),
        );
        write_script(&agent, &script).map_err(|error| error.to_string())?;
        let query = format!("agent={}&dialect={dialect}", agent.display());
        let mut editor = Editor::start(station, &query, &token).await?;
        let id = editor.new_session().await?;
        editor.kill().await?;
        Ok(Self {
            station,
            token,
            query,
            id,
            prompts: Vec::new(),
            seen: Shown::default(),
        })
    }

    async fn editor(&self) -> Result<Editor, String> {
        Editor::start(self.station, &self.query, &self.token).await
    }

    /// Kills an editor at a random moment, and continues with the next one.
    async fn kill_one(&mut self, random: &mut Random) -> Result<(), String> {
        let moment = Moment::ALL[random.below(Moment::ALL.len() as u64) as usize];
        let pause = Duration::from_micros(random.below(KILL_WITHIN_US));
        let killed = self.until(moment, pause).await;
        let next = match killed {
            Ok(shown) => self.next(&shown).await,
            Err(error) => Err(error),
        };
        next.map_err(|error| format!("killed at {moment:?} +{pause:?}: {error}"))
    }

    /// Runs an editor until it is killed. Returns what it showed.
    async fn until(&mut self, moment: Moment, pause: Duration) -> Result<Shown, String> {
        let mut editor = self.editor().await?;
        let load = editor.load(&self.id).await?;
        if matches!(moment, Moment::Loading) {
            editor.read_for(pause).await?;
            return editor.kill().await;
        }
        editor.response(load).await?;
        self.check(&editor.shown)?;
        let text = self.new_prompt();
        let prompt = editor.prompt(&self.id, &text).await?;
        match moment {
            Moment::Loading | Moment::Prompted => editor.read_for(pause).await?,
            Moment::Asked => drop(editor.question().await?),
            Moment::Answered => {
                let question = editor.question().await?;
                editor.allow(&question).await?;
                editor.read_for(pause).await?;
            }
            Moment::Done => editor.allow_until(prompt).await?,
        }
        if !matches!(moment, Moment::Prompted) {
            self.know_last();
        }
        editor.kill().await
    }

    /// Loads the session in the next editor, finishes what runs, and prompts.
    async fn next(&mut self, killed: &Shown) -> Result<(), String> {
        let mut editor = self.editor().await?;
        let load = editor.load(&self.id).await?;
        editor.response(load).await?;
        self.check(&editor.shown)?;
        if !editor.shown.text.starts_with(&killed.text) {
            let (next, killed) = (&editor.shown.text, &killed.text);
            return Err(format!(
                "the killed editor saw {killed:?}, the next one {next:?}"
            ));
        }
        let text = self.new_prompt();
        let prompt = editor.prompt(&self.id, &text).await?;
        // Unless an unanswered request is asked again, this has no response.
        editor.allow_until(prompt).await?;
        self.know_last();
        self.check_order(&editor.shown.text)?;
        drop(editor.kill().await?);
        Ok(())
    }

    fn new_prompt(&mut self) -> String {
        let text = format!("prompt {}", self.prompts.len());
        self.prompts.push(Prompt {
            text: text.clone(),
            is_known: false,
        });
        text
    }

    fn know_last(&mut self) {
        if let Some(prompt) = self.prompts.last_mut() {
            prompt.is_known = true;
        }
    }

    /// Checks a session that was loaded: nothing that was seen before is lost, changed or repeated.
    fn check(&mut self, loaded: &Shown) -> Result<(), String> {
        if !loaded.text.starts_with(&self.seen.text)
            || !loaded.prompts.starts_with(&self.seen.prompts)
        {
            return Err(format!("{:?} was seen, and then {loaded:?}", self.seen));
        }
        for prompt in &self.prompts {
            let shown = loaded.prompts.iter().filter(|it| **it == prompt.text);
            let count = shown.count();
            if count > 1 || (prompt.is_known && count == 0) {
                return Err(format!(
                    "{:?} is shown {count} times in {loaded:?}",
                    prompt.text
                ));
            }
        }
        self.check_order(&loaded.text)?;
        self.seen = loaded.clone();
        Ok(())
    }

    /// Checks that a text is that of this number of turns, and the beginning of another.
    fn check_order(&self, text: &str) -> Result<(), String> {
        if turns(self.prompts.len()).starts_with(text) {
            return Ok(());
        }
        Err(format!("{text:?} are not turns"))
    }

    /// Waits for the end of all turns, and checks the whole session. Returns the number of its prompts.
    async fn settle(&mut self) -> Result<usize, String> {
        let mut editor = self.editor().await?;
        let load = editor.load(&self.id).await?;
        editor.response(load).await?;
        self.check(&editor.shown)?;
        let settled = editor.allow_while(|shown| shown.text != turns(shown.prompts.len()));
        let settled = within("the end of all turns", settled).await?;
        settled.map_err(|error| format!("{error}; {:?}", editor.shown))?;
        let known = self.prompts.iter().filter(|it| it.is_known).count();
        let shown = editor.shown.prompts.len();
        editor.close().await?;
        if shown < known {
            return Err(format!("{shown} of {known} prompts are shown"));
        }
        Ok(shown)
    }

    /// Ends the session, of which no process may be left.
    async fn end(&self, remote: &Remote) -> Result<(), String> {
        let path = format!("/api/sessions/{}?force=true", self.id);
        let ended = remote.ask("DELETE", &path, Bytes::new()).await;
        let (status, body) = ended.map_err(|error| error.to_string())?;
        if status != 200 {
            let body = json!(String::from_utf8_lossy(&body));
            return Err(format!("DELETE: {status} {body}"));
        }
        let left = left_after(END_TIMEOUT, &self.token);
        if left.is_empty() {
            return Ok(());
        }
        Err(format!("left: {}", describe(&left)))
    }
}

/// Returns the text of this number of turns.
fn turns(count: usize) -> String {
    format!("{BEFORE}{CALL}{AFTER}").repeat(count)
}
