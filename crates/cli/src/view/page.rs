//! The page that a transcript is written on: lines, indents, gaps, and at most one open line.

mod row;

use bowline_reducer::BlockId;

use row::Row;

use crate::view::clean::cut;
use crate::view::style::{Paint, Style};

/// What stands in front of each line of a sub-agent, once a level.
const RAIL: &str = "│ ";

/// What stands in front of each line of the model's thinking.
const THOUGHT: &str = "┊ ";

/// More levels than this are not drawn.
const MOST_RAILS: usize = 16;

/// Width that lines are cut to when nobody says how wide the page is, in columns.
const WIDTH: usize = 100;

/// What belongs together: a blank line parts different groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Prompt,
    Said,
    Thought,
    Tool,
    Aside,
    Caption,
}

/// A text that grows: where its lines begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) block: BlockId,
    pub(crate) depth: usize,
    pub(crate) is_thought: bool,
    /// Whether the block was begun before, and its line ended for something else.
    pub(crate) goes_on: bool,
}

/// Text in the making, append-only.
#[derive(Debug)]
pub(crate) struct Page {
    out: String,
    style: Style,
    width: usize,
    /// Whether texts that grow are wrapped between words, as wide as the page.
    wraps: bool,
    /// The open line.
    open: Option<Row>,
    /// Line ends of the open block that wait for text behind them.
    held: usize,
    group: Option<Group>,
}

impl Page {
    pub(crate) const fn new(style: Style) -> Self {
        Self {
            out: String::new(),
            style,
            width: WIDTH,
            wraps: false,
            open: None,
            held: 0,
            group: None,
        }
    }

    /// The page is shown on a terminal so many columns wide.
    pub(crate) const fn set_width(&mut self, columns: usize) {
        self.width = columns;
        self.wraps = true;
    }

    /// What was written since the last call.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Whether the next text begins a line.
    pub(crate) const fn is_at_line_start(&self) -> bool {
        self.open.is_none()
    }

    pub(crate) fn open_block(&self) -> Option<BlockId> {
        self.open.as_ref().map(|row| row.place.block)
    }

    /// Columns that are left for a line at this depth.
    pub(crate) fn room(&self, depth: usize) -> usize {
        let rails = 2 * depth.min(MOST_RAILS);
        self.width.saturating_sub(rails).max(20)
    }

    /// Ends the open line.
    pub(crate) fn end_line(&mut self) {
        self.close_row();
        if self.open.take().is_some() {
            self.out.push('\n');
        }
        self.held = 0;
    }

    /// Leaves a blank line where something else begins.
    pub(crate) fn group(&mut self, depth: usize, group: Group) {
        self.end_line();
        if depth > 0 {
            return;
        }
        let parted = !matches!(group, Group::Tool | Group::Aside);
        if self.group.is_some_and(|last| last != group || parted) {
            self.out.push('\n');
        }
        self.group = Some(group);
    }

    /// Writes one line, from parts with their colours.
    pub(crate) fn line(&mut self, depth: usize, parts: &[(Paint, &str)]) {
        self.end_line();
        self.rails(depth);
        for (paint, text) in parts {
            self.style.paint(&mut self.out, *paint, text);
        }
        self.out.push('\n');
    }

    /// Writes the first lines of a text, cut to the page, and says how many there are more.
    pub(crate) fn excerpt(
        &mut self,
        depth: usize,
        lead: &str,
        text: &str,
        most: usize,
        paint: Paint,
    ) {
        let text = text.trim_matches(['\n', '\r']);
        let room = self.room(depth).saturating_sub(2);
        let mut lines = text.lines();
        for line in lines.by_ref().take(most).filter(|it| !it.trim().is_empty()) {
            self.line(depth, &[(paint, lead), (paint, &cut(line, room))]);
        }
        let more = lines.count();
        if more > 0 {
            let plural = if more == 1 { "" } else { "s" };
            self.line(
                depth,
                &[(Paint::Dim, &format!("{lead}… {more} more line{plural}"))],
            );
        }
    }

    /// Adds to a text that grows. Line ends at its beginning and end are left out.
    pub(crate) fn grow(&mut self, place: Place, text: &str) {
        if self.open_block().is_some_and(|open| open != place.block) {
            self.end_line();
        }
        for (number, part) in text.split('\n').enumerate() {
            if number > 0 {
                self.close_row();
                self.held += 1;
            }
            if !part.is_empty() {
                self.reach_line(place);
                self.fill(part);
            }
        }
        if let Some(row) = &mut self.open {
            row.write(self.style, &mut self.out);
        }
    }

    /// Writes the line ends that were held back and what stands in front of the line.
    fn reach_line(&mut self, place: Place) {
        let held = std::mem::take(&mut self.held);
        if self.open.is_none() {
            self.lead(place);
            if place.goes_on {
                self.style.paint(&mut self.out, Paint::Dim, "… ");
            }
            let column = 2 * usize::from(place.goes_on);
            self.open = Some(Row::new(place, column));
            return;
        }
        for _ in 0..held {
            self.out.push('\n');
            self.lead(place);
            self.open = Some(Row::new(place, 0));
        }
    }

    /// Adds to the open row; on a terminal a word that does not fit begins a row of its own.
    fn fill(&mut self, part: &str) {
        let Some(mut row) = self.open.take() else {
            return;
        };
        if !self.wraps {
            row.ready.push_str(part);
            self.open = Some(row);
            return;
        }
        let room = self.room(row.place.depth) - 2 * usize::from(row.place.is_thought);
        for c in part.chars() {
            if !row.take(c, room) {
                row.write(self.style, &mut self.out);
                self.out.push('\n');
                self.lead(row.place);
                row.begin_again();
            }
        }
        self.open = Some(row);
    }

    /// Writes what waits on the open row.
    fn close_row(&mut self) {
        let Some(mut row) = self.open.take() else {
            return;
        };
        // A word that did not fit was parted from the row when it grew too long.
        row.settle();
        row.write(self.style, &mut self.out);
        self.open = Some(row);
    }

    fn lead(&mut self, place: Place) {
        self.rails(place.depth);
        if place.is_thought {
            self.style.paint(&mut self.out, Paint::Dim, THOUGHT);
        }
    }

    fn rails(&mut self, depth: usize) {
        let rails = RAIL.repeat(depth.min(MOST_RAILS));
        self.style.paint(&mut self.out, Paint::Dim, &rails);
    }
}
