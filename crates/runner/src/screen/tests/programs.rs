//! Full-screen programs whose output exceeds the ring.

use bowline_transport::WindowSize;

use super::sessions::Random;

/// Bytes of a terminal's output that stay in memory.
pub(super) const RING: usize = 1 << 20;

/// Rows and columns.
pub(super) const SIZE: WindowSize = WindowSize::new(24, 80);

/// Output of a full-screen program that sets modes once and then draws.
pub(super) fn program(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut out = String::from("$ tui\r\n\x1b]0;before\x07\x1b[22;0t");
    out.push_str(
        "\x1b[?1049h\x1b[?1h\x1b=\x1b[?25l\x1b[?1003;1006h\x1b[?1004h\x1b[?2004h\x1b[>7u\x1b)0",
    );
    out.push_str("\x1b]4;3;#807060\x07\x1b]11;#101820\x07\x1b[6 q\x1b[>4;1m");
    out.push_str(&format!("\x1b]0;tui {seed}\x07\x1b[3;20r\x1b7"));
    while out.len() < RING + RING / 4 {
        match random.below(6) {
            0 => box_of(&mut random, &mut out),
            1 | 2 => table(&mut random, &mut out),
            3 => log(&mut random, &mut out),
            4 => status(&mut random, &mut out),
            _ => bar(&mut random, &mut out),
        }
    }
    out.push_str("\x1b[10;10Hthe end \x1b[38;2;250;1");
    out.into_bytes()
}

fn box_of(random: &mut Random, out: &mut String) {
    let (row, col) = (random.up_to(12) + 2, random.up_to(50));
    let (height, width) = (random.up_to(5) + 1, random.up_to(25) + 1);
    out.push_str(&format!("\x1b[3{}m\x0e", random.below(8)));
    out.push_str(&format!("\x1b[{row};{col}Hl{}k", "q".repeat(width)));
    for line in 1..height {
        out.push_str(&format!(
            "\x1b[{};{col}Hx{}x",
            row + line,
            " ".repeat(width)
        ));
    }
    out.push_str(&format!(
        "\x1b[{};{col}Hm{}j\x0f\x1b[m",
        row + height,
        "q".repeat(width)
    ));
}

fn table(random: &mut Random, out: &mut String) {
    for row in 3..=20 {
        out.push_str(&format!(
            "\x1b[{row};1H\x1b[2K\x1b[38;5;{}m",
            random.below(256)
        ));
        let name = random.one_of(&[
            "src/main.rs",
            "漢字.txt",
            "a very long name of a file",
            "résumé",
        ]);
        out.push_str(&format!(
            "{name}\x1b[40G{:>8}\x1b[1m",
            random.below(1_000_000)
        ));
        out.push_str(random.one_of(&[
            "\x1b[7mchosen\x1b[27m",
            "ok",
            "\x1b[9mgone\x1b[29m",
            "🙂 fine",
        ]));
        out.push_str("\x1b[m");
    }
}

/// Lines that scroll in the region.
fn log(random: &mut Random, out: &mut String) {
    out.push_str("\x1b[20;1H");
    for _ in 0..random.up_to(30) {
        let words = random.one_of(&[
            "compiled",
            "tested",
            "\x1b[31mfailed\x1b[39m",
            "\x1b[4mlinked\x1b[24m",
        ]);
        out.push_str(&format!(
            "\r\n{:05} {words} in {} ms",
            random.below(99_999),
            random.below(500)
        ));
    }
}

fn status(random: &mut Random, out: &mut String) {
    out.push_str(&format!(
        "\x1b8\x1b[24;1H\x1b[30;47m\x1b[K line {} ",
        random.below(10_000)
    ));
    out.push_str(&format!(
        "\x1b[24;70H{:>3} %\x1b[m\x1b[{};5H\x1b7",
        random.below(101),
        random.up_to(20)
    ));
}

fn bar(random: &mut Random, out: &mut String) {
    let width = random.up_to(60);
    out.push_str(&format!(
        "\x1b[2;1H\x1b[2K\x1b[42m \x1b[{width}b\x1b[m\x1b[{}X",
        random.up_to(9)
    ));
}
