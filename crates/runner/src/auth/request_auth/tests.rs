//! Tables of accepted and refused requests.

use axum::http::{Request, Version};

use super::*;
use crate::auth::{NamedTokens, PROTOCOL_WEB_TERMINAL};

const TOKEN: &str = "an-owner-token-of-enough-characters";
const HOST_NAME: &str = "127.0.0.1:7070";
const PAGE: &str = "chrome-extension://abcdefghijklmnop";

fn auth() -> RequestAuth {
    RequestAuth {
        hosts: [
            "127.0.0.1:7070",
            "[::1]:7070",
            "localhost:7070",
            "runner.example:7070",
        ]
        .map(str::to_owned)
        .to_vec(),
        origins: vec![PAGE.to_owned(), "https://panel.example".to_owned()],
        token: CurrentToken::new(TOKEN),
        named: CurrentNamedTokens::new(NamedTokens::at("/nonexistent/tokens")),
        page: PageAddress::default(),
    }
}

fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::get(uri).version(Version::HTTP_11);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn network(headers: &[(&str, &str)]) -> Result<Principal, AuthError> {
    auth().authenticate(&parts("/api/sessions", headers), PeerKind::Network)
}

fn protocols_with(secret: &str) -> String {
    use base64::Engine as _;
    let secret = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(secret);
    format!("{PROTOCOL_WEB_TERMINAL}, tok.{secret}")
}

#[test]
fn host_must_match_exactly() {
    let bearer = format!("Bearer {TOKEN}");
    for host in [
        "127.0.0.1:7070",
        "[::1]:7070",
        "LOCALHOST:7070",
        "runner.example:7070",
    ] {
        let headers = [("host", host), ("authorization", &bearer)];
        assert_eq!(network(&headers), Ok(Principal::Owner), "{host}");
    }
    for host in [
        "",
        "127.0.0.1",
        "127.0.0.1:7071",
        "127.0.0.1:7070.attacker.example",
        "127.0.0.1.attacker.example:7070",
        "attacker.example",
        "attacker.example:7070",
        "localhost.attacker.example:7070",
        "localhost",
        "localhost.:7070",
        "0.0.0.0:7070",
        "[::]:7070",
        "[::ffff:127.0.0.1]:7070",
        "127.1:7070",
        "2130706433:7070",
        "0x7f000001:7070",
        "user@127.0.0.1:7070",
        "127.0.0.1:7070 attacker.example",
        "127.0.0.1:7070,attacker.example",
        "runner.example:7070@attacker.example",
        "xrunner.example:7070",
    ] {
        let headers = [("host", host), ("authorization", &bearer)];
        assert_eq!(network(&headers), Err(AuthError::Host), "{host:?}");
    }
    assert_eq!(network(&[("authorization", &bearer)]), Err(AuthError::Host));
    let twice = [
        ("host", HOST_NAME),
        ("host", HOST_NAME),
        ("authorization", &bearer),
    ];
    assert_eq!(network(&twice), Err(AuthError::Host));
}

#[test]
fn uri_authority_is_checked_like_host() {
    let bearer = (
        "authorization",
        "Bearer an-owner-token-of-enough-characters",
    );
    let ours = "http://127.0.0.1:7070/api/sessions";
    let theirs = "http://attacker.example/api/sessions";
    let host = ("host", HOST_NAME);
    let authenticate =
        |uri, headers: &[_]| auth().authenticate(&parts(uri, headers), PeerKind::Network);
    assert_eq!(authenticate(ours, &[bearer]), Ok(Principal::Owner));
    assert_eq!(authenticate(ours, &[bearer, host]), Ok(Principal::Owner));
    assert_eq!(authenticate(theirs, &[bearer]), Err(AuthError::Host));
    assert_eq!(authenticate(theirs, &[bearer, host]), Err(AuthError::Host));
    let other = ("host", "attacker.example");
    assert_eq!(authenticate(ours, &[bearer, other]), Err(AuthError::Host));
}

#[test]
fn origin_must_match_exactly() {
    let bearer = format!("Bearer {TOKEN}");
    let with = |origin: &str| {
        let headers = [
            ("host", HOST_NAME),
            ("authorization", &bearer),
            ("origin", origin),
        ];
        network(&headers)
    };
    for origin in [PAGE, "https://panel.example"] {
        assert_eq!(with(origin), Ok(Principal::Owner), "{origin}");
    }
    for origin in [
        "",
        "null",
        "chrome-extension://",
        "chrome-extension://abcdefghijklmnopq",
        "chrome-extension://ponmlkjihgfedcba",
        "https://panel.example:443",
        "https://panel.example/",
        "https://panel.example.attacker.example",
        "https://attacker.example/https://panel.example",
        "https://PANEL.example",
        "http://panel.example",
        "https://sub.panel.example",
        "https://panel.example, https://attacker.example",
        "http://127.0.0.1:7070",
        "http://localhost:7070",
        "http://localhost",
        "file://",
    ] {
        assert_eq!(with(origin), Err(AuthError::Origin), "{origin:?}");
    }
    let twice = [
        ("host", HOST_NAME),
        ("authorization", bearer.as_str()),
        ("origin", PAGE),
        ("origin", PAGE),
    ];
    assert_eq!(network(&twice), Err(AuthError::Origin));
}

#[test]
fn cross_site_requests_are_refused() {
    let bearer = format!("Bearer {TOKEN}");
    let with = |site: &str, origin: Option<&str>| {
        let mut headers = vec![("host", HOST_NAME), ("authorization", bearer.as_str())];
        headers.push(("sec-fetch-site", site));
        headers.extend(origin.map(|it| ("origin", it)));
        network(&headers)
    };
    for site in ["none", "same-origin"] {
        assert_eq!(with(site, None), Ok(Principal::Owner), "{site}");
    }
    for site in ["cross-site", "same-site", "", "None", "anything"] {
        assert_eq!(with(site, None), Err(AuthError::Site), "{site:?}");
    }
    assert_eq!(with("cross-site", Some(PAGE)), Ok(Principal::Owner));
    let attacker = Some("https://attacker.example");
    assert_eq!(with("cross-site", attacker), Err(AuthError::Origin));
    assert_eq!(with("same-origin", attacker), Err(AuthError::Origin));
}

#[test]
fn exactly_one_token_is_accepted() {
    let bearer = format!("Bearer {TOKEN}");
    let protocols = protocols_with(TOKEN);
    let host = ("host", HOST_NAME);
    let page = ("origin", PAGE);
    for (headers, expected) in [
        (vec![host], Err(AuthError::NoToken)),
        (vec![host, page], Err(AuthError::NoToken)),
        (
            vec![host, ("authorization", "")],
            Err(AuthError::WrongToken),
        ),
        (
            vec![host, ("authorization", "Bearer ")],
            Err(AuthError::WrongToken),
        ),
        (
            vec![host, ("authorization", TOKEN)],
            Err(AuthError::WrongToken),
        ),
        (
            vec![host, ("authorization", "Basic YTpi")],
            Err(AuthError::WrongToken),
        ),
        (
            vec![host, ("authorization", "Bearer wrong")],
            Err(AuthError::WrongToken),
        ),
        (vec![host, ("authorization", &bearer)], Ok(Principal::Owner)),
        (
            vec![
                host,
                ("authorization", &bearer),
                ("authorization", "Bearer wrong"),
            ],
            Err(AuthError::WrongToken),
        ),
        (
            vec![
                host,
                page,
                ("authorization", &bearer),
                ("sec-websocket-protocol", &protocols),
            ],
            Err(AuthError::WrongToken),
        ),
        // Without an origin the client is not a browser, and must use the header.
        (
            vec![host, ("sec-websocket-protocol", &protocols)],
            Err(AuthError::NoToken),
        ),
        (
            vec![host, page, ("sec-websocket-protocol", &protocols)],
            Ok(Principal::Owner),
        ),
        (
            vec![
                host,
                page,
                ("sec-websocket-protocol", PROTOCOL_WEB_TERMINAL),
            ],
            Err(AuthError::NoToken),
        ),
        (
            vec![host, page, ("sec-websocket-protocol", "tok.!!!")],
            Err(AuthError::WrongToken),
        ),
        (
            vec![
                host,
                page,
                ("sec-websocket-protocol", &protocols),
                ("sec-websocket-protocol", &protocols),
            ],
            Err(AuthError::WrongToken),
        ),
        (vec![host, ("cookie", TOKEN)], Err(AuthError::NoToken)),
    ] {
        assert_eq!(network(&headers), expected, "{headers:?}");
    }
}

#[test]
fn token_in_query_is_ignored() {
    let uri = format!("/api/sessions?token={TOKEN}");
    let parts = parts(&uri, &[("host", HOST_NAME)]);
    assert_eq!(
        auth().authenticate(&parts, PeerKind::Network),
        Err(AuthError::NoToken)
    );
}

#[test]
fn ticket_passes_authentication() {
    let host = ("host", HOST_NAME);
    let ticket = "ticket-abc";
    let bearer = format!("Bearer {ticket}");
    let pass = Ok(Principal::Ticket(ticket.to_owned()));
    assert_eq!(network(&[host, ("authorization", &bearer)]), pass);
    let protocols = protocols_with(ticket);
    let headers = [
        host,
        ("origin", PAGE),
        ("sec-websocket-protocol", &protocols),
    ];
    assert_eq!(network(&headers), pass);
}

#[test]
fn unix_socket_needs_no_token() {
    let local = |headers: &[_]| auth().authenticate(&parts("/", headers), PeerKind::Local);
    assert_eq!(local(&[]), Ok(Principal::Owner));
    assert_eq!(local(&[("host", "whatever")]), Ok(Principal::Owner));
    // A secret is checked even where none is needed.
    let wrong = [("authorization", "Bearer wrong")];
    assert_eq!(local(&wrong), Err(AuthError::WrongToken));
    let page = [("origin", "https://attacker.example")];
    assert_eq!(local(&page), Err(AuthError::Origin));
    assert_eq!(
        local(&[("sec-fetch-site", "cross-site")]),
        Err(AuthError::Site)
    );
}

#[test]
fn default_port_may_be_omitted_from_host() {
    let of = |address: &str, is_encrypted| {
        let address = address.parse().unwrap();
        accepted_hosts(&["here.example:443".into()], &[address], is_encrypted)
    };
    let all = [
        "here.example:443",
        "10.0.0.7:443",
        "here.example",
        "10.0.0.7",
    ];
    assert_eq!(of("10.0.0.7:443", true), all);
    assert_eq!(of("[2001:db8::7]:443", true)[3], "[2001:db8::7]");
    assert_eq!(of("10.0.0.7:443", false), all[..2]);
    let loopback = [
        "here.example:443",
        "127.0.0.1:80",
        "localhost:80",
        "127.0.0.1",
        "localhost",
    ];
    assert_eq!(of("127.0.0.1:80", false), loopback);
}
