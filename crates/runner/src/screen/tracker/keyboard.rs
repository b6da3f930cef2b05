//! The stacks of kitty's keyboard protocol (`CSI … u`), one per screen.

use super::super::sequence::Csi;

/// Maximal entries of a stack, as in kitty.
const MAX_DEPTH: usize = 16;

/// Keyboard flags of the main and of the alternate screen.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyboard {
    stacks: [Stack; 2],
}

/// The base flags and those pushed on them.
#[derive(Clone, Debug, Default)]
struct Stack {
    base: u16,
    pushed: Vec<u16>,
}

impl Stack {
    fn top(&mut self) -> &mut u16 {
        self.pushed.last_mut().unwrap_or(&mut self.base)
    }
}

impl Keyboard {
    pub(super) fn flags(&self, is_alternate: bool) -> u16 {
        let stack = &self.stacks[usize::from(is_alternate)];
        stack.pushed.last().copied().unwrap_or(stack.base)
    }

    pub(super) fn csi(&mut self, csi: &Csi<'_>, is_alternate: bool) {
        let stack = &mut self.stacks[usize::from(is_alternate)];
        let flags = csi.param(0, 0);
        match csi.marker {
            b'>' => {
                if stack.pushed.len() == MAX_DEPTH {
                    stack.pushed.remove(0);
                }
                stack.pushed.push(flags);
            }
            b'<' => {
                let pops = usize::from(csi.param(0, 1));
                let is_emptied = pops >= stack.pushed.len();
                stack
                    .pushed
                    .truncate(stack.pushed.len().saturating_sub(pops));
                if is_emptied {
                    stack.base = 0;
                }
            }
            b'=' => {
                let top = stack.top();
                match csi.param(1, 1) {
                    1 => *top = flags,
                    2 => *top |= flags,
                    3 => *top &= !flags,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Appends the sequences that rebuild the stack of a screen whose stack is empty.
    pub(super) fn write_state(&self, is_alternate: bool, out: &mut Vec<u8>) {
        let stack = &self.stacks[usize::from(is_alternate)];
        if stack.base != 0 {
            out.extend(format!("\x1b[={}u", stack.base).bytes());
        }
        for flags in &stack.pushed {
            out.extend(format!("\x1b[>{flags}u").bytes());
        }
    }
}
