//! The stacks of the keyboard protocol (kitty's `CSI … u`): one for each screen.

use super::super::sequence::Csi;

/// Entries of a stack, as kitty has them.
const DEEPEST: usize = 16;

/// The flags that were pushed, for the main and for the alternate screen.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyboard {
    stacks: [Stack; 2],
}

/// The flags below the first push, and those pushed.
#[derive(Clone, Debug, Default)]
struct Stack {
    ground: u16,
    pushed: Vec<u16>,
}

impl Stack {
    fn top(&mut self) -> &mut u16 {
        self.pushed.last_mut().unwrap_or(&mut self.ground)
    }
}

impl Keyboard {
    pub(super) fn flags(&self, is_alternate: bool) -> u16 {
        let stack = &self.stacks[usize::from(is_alternate)];
        stack.pushed.last().copied().unwrap_or(stack.ground)
    }

    pub(super) fn csi(&mut self, csi: &Csi<'_>, is_alternate: bool) {
        let stack = &mut self.stacks[usize::from(is_alternate)];
        let flags = csi.param(0, 0);
        match csi.marker {
            b'>' => {
                if stack.pushed.len() == DEEPEST {
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
                    stack.ground = 0;
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

    /// Pushes again what was pushed, on a screen whose stack is empty.
    pub(super) fn restore(&self, is_alternate: bool, out: &mut Vec<u8>) {
        let stack = &self.stacks[usize::from(is_alternate)];
        if stack.ground != 0 {
            out.extend(format!("\x1b[={}u", stack.ground).bytes());
        }
        for flags in &stack.pushed {
            out.extend(format!("\x1b[>{flags}u").bytes());
        }
    }
}
