//! Reads what is wrong with the log of a session.

use std::io;

use bowline_transport::SessionDamage;
use bowline_transport::journal::{Damage, Folder, JournalReader};

use super::record::{SessionRecord, ShimStatus};

/// Reads the log of a session that has ended, and returns the first damage in it. The log of a running
/// session is not read. Blocks.
pub(crate) fn damage_in_log(record: &SessionRecord) -> Option<SessionDamage> {
    if record.shim != ShimStatus::Gone || !record.info.has_journal {
        return None;
    }
    let verify = || -> io::Result<Option<Damage>> {
        let mut journal = JournalReader::open(Folder::at(record.session.journal()))?;
        journal.verify()?;
        Ok(journal.damage().next().cloned())
    };
    match verify() {
        Ok(damage) => damage.as_ref().map(SessionDamage::from),
        Err(error) => Some(SessionDamage::elsewhere(error.to_string())),
    }
}
