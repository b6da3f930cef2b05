//! The rights of runners and hosts.

use crate::bus::{Bucket, FILE_STORE, LOG_STREAM, SERVERS_SUBJECT};
use crate::nats::SERVICE_NAME;

/// Formats rights: the subjects to publish to, and those to receive.
fn rights(publish: &[String], subscribe: &[String]) -> String {
    let list = |subjects: &[String]| {
        let quoted: Vec<_> = subjects.iter().map(|it| format!("\"{it}\"")).collect();
        quoted.join(", ")
    };
    format!(
        "{{ publish: [{}], subscribe: [{}] }}",
        list(publish),
        list(subscribe)
    )
}

/// What reading the directory and the log of sessions needs. Consumers have names, so that their subject has the
/// filter; nothing is read by its sequence alone.
fn reading() -> Vec<String> {
    let mut subjects = vec![
        format!("$JS.API.CONSUMER.CREATE.{LOG_STREAM}.*.bl.log.>"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{LOG_STREAM}.>"),
        format!("$JS.API.CONSUMER.INFO.{LOG_STREAM}.>"),
        format!("$JS.API.CONSUMER.DELETE.{LOG_STREAM}.>"),
        format!("$JS.API.STREAM.INFO.{LOG_STREAM}"),
        format!("$JS.API.STREAM.INFO.OBJ_{FILE_STORE}"),
        SERVERS_SUBJECT.to_owned(),
        // The runners that advertise themselves, and their sessions.
        "$SRV.>".to_owned(),
        "bl.sessions.*".to_owned(),
    ];
    for bucket in [Bucket::Runners, Bucket::Seen, Bucket::Sessions] {
        let name = bucket.name();
        subjects.extend([
            format!("$JS.API.CONSUMER.CREATE.KV_{name}.*.$KV.{name}.>"),
            format!("$JS.API.CONSUMER.MSG.NEXT.KV_{name}.>"),
            format!("$JS.API.CONSUMER.INFO.KV_{name}.>"),
            format!("$JS.API.CONSUMER.DELETE.KV_{name}.>"),
            format!("$JS.API.STREAM.MSG.GET.KV_{name}"),
            format!("$JS.API.STREAM.INFO.KV_{name}"),
        ]);
    }
    subjects
}

/// A host reads, and opens links.
pub(super) fn host_rights(name: &str) -> String {
    let mut publish = reading();
    publish.extend(["bl.link.*".to_owned(), "_INBOX.>".to_owned()]);
    rights(&publish, &[format!("_INBOX.{name}.>")])
}

/// A runner also publishes what its sessions write and its own record, and accepts links.
pub(super) fn runner_rights(name: &str) -> String {
    let mut publish = reading();
    publish.extend([
        "bl.link.*".to_owned(),
        "_INBOX.>".to_owned(),
        "bl.log.*.*".to_owned(),
        format!("$KV.{}.{name}", Bucket::Runners.name()),
        format!("$KV.{}.{name}", Bucket::Seen.name()),
        format!("$KV.{}.*", Bucket::Sessions.name()),
        format!("$KV.{}.>", Bucket::Claims.name()),
        format!("$JS.API.STREAM.MSG.GET.{LOG_STREAM}"),
        format!("$JS.API.STREAM.MSG.GET.KV_{}", Bucket::Claims.name()),
        format!("$JS.API.STREAM.INFO.KV_{}", Bucket::Claims.name()),
        format!("$JS.API.STREAM.CREATE.{LOG_STREAM}"),
        // The files of conversations: an object store of the servers' own form.
        format!("$O.{FILE_STORE}.>"),
        format!("$JS.API.STREAM.CREATE.OBJ_{FILE_STORE}"),
        format!("$JS.API.STREAM.PURGE.OBJ_{FILE_STORE}"),
        format!("$JS.API.DIRECT.GET.OBJ_{FILE_STORE}.$O.{FILE_STORE}.M.>"),
        format!("$JS.API.CONSUMER.CREATE.OBJ_{FILE_STORE}"),
        format!("$JS.API.CONSUMER.CREATE.OBJ_{FILE_STORE}.>"),
        format!("$JS.API.CONSUMER.INFO.OBJ_{FILE_STORE}.>"),
        format!("$JS.API.CONSUMER.DELETE.OBJ_{FILE_STORE}.>"),
        format!("$JS.FC.OBJ_{FILE_STORE}.>"),
        "$JS.API.INFO".to_owned(),
    ]);
    let buckets = Bucket::ALL
        .iter()
        .map(|it| format!("$JS.API.STREAM.CREATE.KV_{}", it.name()));
    publish.extend(buckets);
    let subscribe = [
        format!("bl.link.{name}"),
        format!("bl.sessions.{name}"),
        "$SRV.*".to_owned(),
        format!("$SRV.*.{SERVICE_NAME}"),
        format!("$SRV.*.{SERVICE_NAME}.*"),
        format!("_INBOX.{name}.>"),
    ];
    rights(&publish, &subscribe)
}
