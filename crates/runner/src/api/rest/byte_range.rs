//! Ranges of bytes and tags of them (RFC 9110, sections 8.8.3 and 14).

use axum::body::Body;
use axum::http::header::{ETAG, IF_NONE_MATCH, RANGE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;

use crate::api::problem::Problem;

/// The range of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteRange {
    /// From an offset to another one, which is included; `None` is the end.
    From(u64, Option<u64>),
    /// The last bytes.
    Last(u64),
}

impl ByteRange {
    /// Reads the header `Range`. One with several ranges, or of another form, is ignored.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let range = headers.get(RANGE)?.to_str().ok()?;
        Self::parse(range.strip_prefix("bytes=")?)
    }

    fn parse(range: &str) -> Option<Self> {
        let (from, to) = range.trim().split_once('-')?;
        match (from, to) {
            ("", last) => Some(Self::Last(last.parse().ok()?)),
            (from, "") => Some(Self::From(from.parse().ok()?, None)),
            (from, to) => {
                let (from, to) = (from.parse().ok()?, to.parse().ok()?);
                (from <= to).then_some(Self::From(from, Some(to)))
            }
        }
    }

    /// Returns the first offset and the length within a stream that ends at `end`.
    ///
    /// # Errors
    ///
    /// The range has no byte of the stream.
    pub(super) fn within(self, end: u64) -> Result<(u64, u64), Problem> {
        let (from, to) = match self {
            Self::From(from, to) => (from, to.map_or(end, |to| to.saturating_add(1)).min(end)),
            Self::Last(count) => (end.saturating_sub(count), end),
        };
        if from >= to {
            let detail = format!("the range has no byte of the stream, which ends at {end}");
            let next = "request a range before its end, or retry when the session has written more";
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            return Err(Problem {
                stream_end: Some(end),
                ..Problem::new(status, "RANGE_NOT_SATISFIABLE", detail, next)
            });
        }
        Ok((from, to - from))
    }
}

/// Returns whether the client has the bytes that a tag stands for.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(IF_NONE_MATCH).iter();
    let mut tags = known
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','));
    tags.any(|it| it.trim().trim_start_matches("W/") == tag)
}

pub(super) fn not_modified(tag: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    insert(&mut response, ETAG, tag);
    response
}

/// Inserts a header whose value is ASCII.
pub(super) fn insert(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_read_and_cut_at_the_end() {
        let within = |text: &str| ByteRange::parse(text).unwrap().within(10).ok();
        assert_eq!(within("0-3"), Some((0, 4)));
        assert_eq!(within("4-"), Some((4, 6)));
        assert_eq!(within("8-99"), Some((8, 2)));
        assert_eq!(within("-3"), Some((7, 3)));
        assert_eq!(within("-99"), Some((0, 10)));
        for empty in ["10-", "11-12", "-0"] {
            assert_eq!(within(empty), None, "{empty}");
        }
        assert_eq!(within(&format!("0-{}", u64::MAX)), Some((0, 10)));
        for other in ["", "a-b", "3-1", "1-2,4-5", "-", "99999999999999999999-"] {
            assert_eq!(ByteRange::parse(other), None, "{other}");
        }
    }

    #[test]
    fn known_tag_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"a\", W/\"b\""));
        assert!(is_known(&headers, "\"a\"") && is_known(&headers, "\"b\""));
        assert!(!is_known(&headers, "\"c\""));
    }
}
