//! Random terminal sessions, and where a client attaches.

use bowline_transport::WindowSize;

use super::handoff::{compare, hand_off};
use super::oracle::Oracle;

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    pub(super) fn up_to(&mut self, most: usize) -> usize {
        self.below(most) + 1
    }

    pub(super) fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// A program with random output.
pub(super) struct Program {
    pub(super) random: Random,
    size: WindowSize,
    is_alternate: bool,
    pub(super) output: String,
}

impl Program {
    pub(super) fn new(seed: u64, size: WindowSize) -> Self {
        Self {
            random: Random::new(seed),
            size,
            is_alternate: false,
            output: String::new(),
        }
    }

    fn write(&mut self, text: &str) {
        self.output.push_str(text);
    }

    fn row(&mut self) -> usize {
        self.random.up_to(usize::from(self.size.rows))
    }

    fn col(&mut self) -> usize {
        self.random.up_to(usize::from(self.size.cols))
    }

    pub(super) fn step(&mut self) {
        match self.random.below(24) {
            0..=6 => self.text(),
            7 | 8 => self.pen(),
            9..=11 => self.place(),
            12 | 13 => self.erase(),
            14 => self.shift(),
            15 => self.scroll(),
            16 | 17 => self.lines(),
            18 => self.saved(),
            19 | 20 => self.mode(),
            21 => self.screen(),
            22 => self.tabs_and_charsets(),
            _ => self.words(),
        }
    }

    /// Text. Wide characters are erased before anything overwrites half of one, which terminals
    /// display differently.
    fn text(&mut self) {
        let words = [
            "a",
            "word ",
            "another, longer one ",
            "0123456789",
            "é",
            "e\u{301}",
            "─│┌",
            "x",
        ];
        for _ in 0..self.random.up_to(4) {
            let word = self.random.one_of(&words);
            self.write(word);
        }
        if self.random.below(6) == 0 {
            let row = self.row();
            let wide = self.random.one_of(&["漢字", "かな", "한", "🙂"]);
            self.write(&format!("\x1b[{row};1H\x1b[2K{wide} {wide}\x1b[2K"));
        }
        if self.random.below(8) == 0 {
            let times = self.random.up_to(9);
            self.write(&format!("r\x1b[{times}b"));
        }
    }

    fn pen(&mut self) {
        let pen = match self.random.below(6) {
            0 => "0".to_owned(),
            1 => format!("{}", 30 + self.random.below(8)),
            2 => format!("{}", 40 + self.random.below(8)),
            3 => format!("38;5;{}", self.random.below(256)),
            4 => format!(
                "48;2;{};{};9",
                self.random.below(256),
                self.random.below(256)
            ),
            _ => {
                let pens = [
                    "22;1", "22;2", "3", "4", "4:3", "7", "9", "22", "23", "24", "27", "29", "39",
                    "49",
                ];
                self.random.one_of(&pens).to_owned()
            }
        };
        self.write(&format!("\x1b[{pen}m"));
    }

    fn place(&mut self) {
        let (row, col, by) = (self.row(), self.col(), self.random.up_to(5));
        let place = match self.random.below(9) {
            0..=3 => format!("\x1b[{row};{col}H"),
            4 => format!("\x1b[{col}G"),
            5 => format!("\x1b[{row}d"),
            // Terminals differ in whether vertical movement stops at a region's margin.
            6 => format!("\x1b[r\x1b[{row};{col}H\x1b[{by}A\x1b[{by}C"),
            7 => format!("\x1b[r\x1b[{row};{col}H\x1b[{by}B\x1b[{by}D"),
            _ => "\x1b[H".to_owned(),
        };
        self.write(&place);
    }

    fn erase(&mut self) {
        let by = self.random.up_to(6);
        let erase = match self.random.below(8) {
            0 => "\x1b[K".to_owned(),
            1 => "\x1b[1K".to_owned(),
            2 => "\x1b[2K".to_owned(),
            3 => "\x1b[J".to_owned(),
            // One terminal does not erase the first row if the cursor is on the second.
            4 => "\x1b[1;4H\x1b[1J".to_owned(),
            5 => "\x1b[2J".to_owned(),
            _ => format!("\x1b[{by}X"),
        };
        // Terminals differ in whether erasing with a pending wrap includes the last column.
        let (row, col) = (self.row(), self.col());
        self.write(&format!("\x1b[{row};{col}H{erase}"));
    }

    /// On a line without wide characters, halves of which terminals display differently.
    fn shift(&mut self) {
        let (row, by) = (self.row(), self.random.up_to(4));
        let what = self.random.one_of(&["@", "P"]);
        self.write(&format!("\x1b[{row};1H\x1b[2Kabcdef\x1b[3G\x1b[{by}{what}"));
    }

    fn scroll(&mut self) {
        let (top, bottom) = (self.row(), self.row());
        let by = self.random.up_to(3);
        match self.random.below(5) {
            0 | 1 if top < bottom => self.write(&format!("\x1b[{top};{bottom}r")),
            2 => self.write("\x1b[r"),
            3 => self.write(&format!("\x1b[{by}S")),
            _ => self.write(&format!("\x1b[{by}T")),
        }
    }

    fn lines(&mut self) {
        let by = self.random.up_to(3);
        match self.random.below(6) {
            0 => self.write("\r\x1bM"),
            1 => self.write("\r\x1bD"),
            // Terminals differ in whether the column changes.
            2 => self.write(&format!("\r\x1b[{by}L")),
            3 => self.write(&format!("\r\x1b[{by}M")),
            _ => self.write(&"\r\n".repeat(by)),
        }
    }

    fn saved(&mut self) {
        let saved = self.random.one_of(&["\x1b7", "\x1b8", "\x1b[s", "\x1b[u"]);
        self.write(saved);
    }

    fn mode(&mut self) {
        let modes = ["1", "25", "1000", "1002", "1003", "1004", "1006", "2004"];
        let mode = self.random.one_of(&modes);
        let on = self.random.one_of(&["h", "l"]);
        match self.random.below(9) {
            0 => self.write(&format!("\x1b[4{on}")),
            1 => {
                let keypad = self.random.one_of(&["\x1b=", "\x1b>"]);
                self.write(keypad);
            }
            2 => {
                let flags = self.random.below(16);
                let keyboard = [format!("\x1b[>{flags}u"), "\x1b[<u".to_owned()];
                let at = self.random.below(2);
                self.write(&keyboard[at]);
            }
            3 => {
                let style = self.random.below(7);
                self.write(&format!("\x1b[{style} q"));
            }
            5 => self.write("\x1b[?7l\x1b[1;8Hmore than there is room for\x1b[?7h\x1b[3;3H"),
            // Terminals differ in whether the mode is saved with the cursor, and homes it when
            // reset.
            4 => self.write("\x1b[?6h\x1b[2;2Hin the region\x1b[?6l\x1b[2;2H"),
            _ => self.write(&format!("\x1b[?{mode}{on}")),
        }
    }

    /// Enters and leaves the alternate screen, never twice in a row. Terminals differ in which
    /// saved cursor and pending wrap apply afterwards.
    fn screen(&mut self) {
        if self.random.below(3) > 0 {
            return;
        }
        self.is_alternate = !self.is_alternate;
        self.write(if self.is_alternate {
            "\x1b[2;2H\x1b[?1049h\x1b7"
        } else {
            "\x1b[2;2H\x1b[?1049l\x1b7"
        });
    }

    fn tabs_and_charsets(&mut self) {
        let col = self.col();
        match self.random.below(8) {
            0 => self.write(&format!("\x1b[{col}G\x1bH")),
            1 => self.write(&format!("\x1b[{col}G\x1b[g")),
            2 => self.write("\x1b[3g"),
            3 | 4 => self.write(&format!("\x1b[{col}G\t")),
            5 => self.write("\x1b(0lqk\x1b(B"),
            6 => self.write("\x1b)0"),
            _ => self.write("\x0eq\x0f"),
        }
    }

    fn words(&mut self) {
        let number = self.random.below(1_000);
        let color = self.random.below(16);
        match self.random.below(6) {
            0 => self.write(&format!("\x1b]0;title {number}\x07")),
            1 => self.write("\x1b[22;0t"),
            2 => self.write("\x1b[23;0t"),
            3 => self.write(&format!("\x1b]4;{color};#0000{color:02x}\x1b\\")),
            4 => self.write(&format!(
                "\x1b]8;;http://x/{number}\x1b\\link\x1b]8;;\x1b\\"
            )),
            _ => self.write("\x1b[c\x1b[6n"),
        }
    }
}

/// A session, and where a client attaches.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) size: WindowSize,
    pub(super) steps: Vec<String>,
    /// Index of a step, and of a byte in it.
    pub(super) cut: (usize, usize),
}

impl Session {
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5ee0);
        let size = WindowSize::new(2 + random.below(23) as u16, 10 + random.below(71) as u16);
        let mut program = Program::new(seed, size);
        let mut step = || {
            program.step();
            std::mem::take(&mut program.output)
        };
        let steps: Vec<_> = (0..20 + random.below(200)).map(|_| step()).collect();
        let at = random.below(steps.len());
        let cut = (at, random.below(steps[at].len() + 1));
        Self { size, steps, cut }
    }

    pub(super) fn run(&self) -> Result<(), String> {
        let output = self.steps.concat();
        let before = self
            .steps
            .iter()
            .take(self.cut.0)
            .map(String::len)
            .sum::<usize>();
        let mut direct = Oracle::new(self.size);
        direct.feed(output.as_bytes());
        let mut client = hand_off(self.size, output.as_bytes(), before + self.cut.1);
        compare(&mut direct, &mut client)
    }

    fn without(&self, step: usize) -> Option<Self> {
        let mut less = self.clone();
        less.steps.remove(step);
        match step.cmp(&self.cut.0) {
            std::cmp::Ordering::Less => less.cut.0 -= 1,
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => {}
        }
        Some(less)
    }

    /// Returns the same failure with a minimal number of steps.
    pub(super) fn shrunk(mut self) -> Self {
        let mut step = self.steps.len();
        while let Some(last) = step.checked_sub(1) {
            step = last;
            if let Some(less) = self.without(step).filter(|less| less.run().is_err()) {
                self = less;
            }
        }
        self
    }
}
