//! Textual corrections of generated sources.

use crate::Failure;

/// A text that generated sources contain, and what replaces it.
pub(crate) struct Correction {
    from: &'static str,
    to: &'static str,
    is_unique: bool,
}

/// Replaces a text that occurs once.
pub(crate) const fn once(from: &'static str, to: &'static str) -> Correction {
    Correction {
        from,
        to,
        is_unique: true,
    }
}

/// Replaces a text wherever it occurs, at least once.
pub(crate) const fn each(from: &'static str, to: &'static str) -> Correction {
    Correction {
        from,
        to,
        is_unique: false,
    }
}

/// Applies `corrections` in order. Fails if one does not apply, so that an update of UniFFI cannot drop
/// one.
pub(crate) fn apply<'a>(
    mut text: String,
    corrections: impl IntoIterator<Item = &'a Correction>,
) -> Result<String, Failure> {
    for correction in corrections {
        let found = text.matches(correction.from).count();
        if found == 0 || (correction.is_unique && found > 1) {
            let from = correction.from;
            let reason = format!(
                "the generated sources contain {from:?} {found} times; adapt the corrections to this \
                 version of UniFFI"
            );
            return Err(reason.into());
        }
        text = text.replace(correction.from, correction.to);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correction_that_does_not_apply_is_an_error() {
        let apply = |text: &str, correction| apply(text.to_owned(), &[correction]).ok();
        assert_eq!(apply("a b", once("b", "c")), Some("a c".to_owned()));
        assert_eq!(apply("b b", each("b", "c")), Some("c c".to_owned()));
        assert_eq!(apply("b b", once("b", "c")), None);
        assert_eq!(apply("a", each("b", "c")), None);
    }
}
