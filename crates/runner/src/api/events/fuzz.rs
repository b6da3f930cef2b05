//! Reads arbitrary texts as cursors and checks their invariants.

use super::cursor::{HubCursor, SessionCursor};
use super::lines::LineCursor;
use crate::api::session_place::SessionPlace;

/// Reads a text as each kind of cursor.
///
/// # Errors
///
/// Returns the violated invariant.
pub fn cursor(data: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    let session = text.parse::<SessionCursor>().ok();
    let hub = text.parse::<HubCursor>().ok();
    if session.is_some() && hub.is_some() {
        return Err(format!("{text:?} is {session:?} and {hub:?}"));
    }
    if let Some(cursor) = session
        && cursor.to_string().parse() != Ok(cursor)
    {
        return Err(format!("{cursor:?} is not read from {cursor}"));
    }
    if let Some(cursor) = hub
        && cursor.to_string().parse() != Ok(cursor)
    {
        return Err(format!("{cursor:?} is not read from {cursor}"));
    }
    if let Ok(place) = text.parse::<SessionPlace>()
        && place.to_string().parse() != Ok(place)
    {
        return Err(format!("{place:?} is not read from {place}"));
    }
    let _ = LineCursor::parse(text);
    Ok(())
}
