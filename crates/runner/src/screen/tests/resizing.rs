//! Resizes, and panicking engines.

use bowline_transport::WindowSize;

use super::oracle::{Oracle, same};
use super::{SIZE, compare};
use crate::screen::{SessionScreen, VtEngine};

/// Output of a full-screen program after a resize.
fn redraw(size: WindowSize) -> Vec<u8> {
    let mut out = String::from("\x1b[r\x1b[m\x1b[H\x1b[2J");
    for row in 1..=size.rows {
        out.push_str(&format!(
            "\x1b[{row};1H\x1b[3{}mrow {row}\x1b[{}G|",
            row % 8,
            size.cols
        ));
    }
    out.push_str("\x1b[2;3H");
    out.into_bytes()
}

/// A client attaches with the size of its predecessor, and is resized then.
#[test]
fn redrawing_program_is_exact_after_each_resize() {
    let sizes = [(8, 30), (20, 90), (3, 12), (24, 80), (8, 30)];
    for start in [b"\x1b[?1049h".as_slice(), b"main\r\n"] {
        let mut screen = SessionScreen::new(SIZE);
        let mut direct = Oracle::new(SIZE);
        screen.feed(0, start);
        direct.feed(start);
        for (rows, cols) in sizes {
            let size = WindowSize::new(rows, cols);
            let before = screen.snapshot();
            let mut client = Oracle::new(before.size);
            client.feed(&before.bytes);
            for oracle in [&mut direct, &mut client] {
                oracle.resize(size);
                oracle.feed(&redraw(size));
            }
            screen.resize(size);
            screen.feed(screen.end(), &redraw(size));
            same(&direct, &client).unwrap();
            let after = screen.snapshot();
            assert_eq!(after.size, size);
            let mut late = Oracle::new(size);
            late.feed(super::DIRT);
            late.feed(&after.bytes);
            same(&direct, &late).unwrap();
        }
        let mut late = Oracle::new(SIZE);
        late.feed(&screen.snapshot().bytes);
        compare(&mut direct, &mut late).unwrap();
    }
}

/// An engine that panics on an exclamation mark.
#[derive(Debug, Default)]
struct Fragile(Vec<u8>);

impl VtEngine for Fragile {
    fn feed(&mut self, bytes: &[u8]) {
        assert!(!bytes.contains(&b'!'), "unsupported character");
        self.0.extend(bytes);
    }

    fn resize(&mut self, _size: WindowSize) {}

    fn contents(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn cursor(&self) -> (u16, u16) {
        (1, 1)
    }
}

#[test]
fn panicking_engine_is_replaced() {
    let mut screen = SessionScreen::with_engine(SIZE, |_| Box::<Fragile>::default());
    screen.feed(0, b"before\r\n");
    screen.feed(8, b"too much!\r\n");
    screen.feed(19, b"after\r\n\x1b[1");
    assert_eq!(screen.faults(), 1);
    let snapshot = screen.snapshot();
    let shown = String::from_utf8(snapshot.bytes.to_vec()).unwrap();
    assert!(
        shown.contains("after") && !shown.contains("before"),
        "{shown:?}"
    );
    assert_eq!((snapshot.at_offset, screen.end()), (26, 29));
}
