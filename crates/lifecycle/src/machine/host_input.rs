//! What all hosts wrote to an agent at a runner that reports it, folded at its place in the output.

use bowline_jsonl::RawJson;

use super::Machine;

impl Machine {
    /// Has the input folded from what the runner reports, before the first input. `until` is the offset up to
    /// which it is history.
    pub(crate) const fn follow_input(&mut self, until: u64) {
        self.reported_input = Some(until);
    }

    pub(super) fn host_input(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        let mut lines = std::mem::take(&mut self.input_lines);
        lines.push(bytes, |line| self.host_line(line));
        self.input_lines = lines;
        self.advance_replay(|replay| replay.advance_input(length));
    }

    pub(super) fn host_input_gap(&mut self, to: u64) {
        self.input_lines.skip();
        self.fold_all_unreported();
        self.advance_replay(|replay| replay.skip_input(to));
    }

    /// Folds a line that this or another host wrote.
    fn host_line(&mut self, line: &str) {
        self.fold_reported(line);
        if (self.protocol.folds_input() || self.follower.is_some())
            && let Some(line) = RawJson::parse(line)
        {
            self.speak(|protocol, link| protocol.host_line(line, link));
        }
    }
}
