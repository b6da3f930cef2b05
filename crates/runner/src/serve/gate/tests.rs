//! Every way in, as a table.

use axum::http::{Request, Version};

use super::*;

const TOKEN: &str = "an-owner-token-of-enough-characters";
const HOST_NAME: &str = "127.0.0.1:7070";
const PANEL: &str = "chrome-extension://abcdefghijklmnop";

fn gate() -> Gate {
    Gate {
        hosts: [
            "127.0.0.1:7070",
            "[::1]:7070",
            "localhost:7070",
            "runner.example:7070",
        ]
        .map(str::to_owned)
        .to_vec(),
        origins: vec![PANEL.to_owned(), "https://panel.example".to_owned()],
        token: TokenHash::of(TOKEN.as_bytes()),
    }
}

fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::get(uri).version(Version::HTTP_11);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn network(headers: &[(&str, &str)]) -> Result<Pass, Refusal> {
    gate().admit(&parts("/api/sessions", headers), Line::Network)
}

fn carrier(secret: &str) -> String {
    use base64::Engine as _;
    let secret = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(secret);
    format!("{PROTOCOL_PANEL}, tok.{secret}")
}

#[test]
fn hosts_are_exact() {
    let bearer = format!("Bearer {TOKEN}");
    for host in [
        "127.0.0.1:7070",
        "[::1]:7070",
        "LOCALHOST:7070",
        "runner.example:7070",
    ] {
        let headers = [("host", host), ("authorization", &bearer)];
        assert_eq!(network(&headers), Ok(Pass::Owner), "{host}");
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
        assert_eq!(network(&headers), Err(Refusal::Host), "{host:?}");
    }
    assert_eq!(network(&[("authorization", &bearer)]), Err(Refusal::Host));
    let twice = [
        ("host", HOST_NAME),
        ("host", HOST_NAME),
        ("authorization", &bearer),
    ];
    assert_eq!(network(&twice), Err(Refusal::Host));
}

#[test]
fn an_authority_counts_as_a_host() {
    let bearer = (
        "authorization",
        "Bearer an-owner-token-of-enough-characters",
    );
    let ours = "http://127.0.0.1:7070/api/sessions";
    let theirs = "http://attacker.example/api/sessions";
    let host = ("host", HOST_NAME);
    let admit = |uri, headers: &[_]| gate().admit(&parts(uri, headers), Line::Network);
    assert_eq!(admit(ours, &[bearer]), Ok(Pass::Owner));
    assert_eq!(admit(ours, &[bearer, host]), Ok(Pass::Owner));
    assert_eq!(admit(theirs, &[bearer]), Err(Refusal::Host));
    assert_eq!(admit(theirs, &[bearer, host]), Err(Refusal::Host));
    let other = ("host", "attacker.example");
    assert_eq!(admit(ours, &[bearer, other]), Err(Refusal::Host));
}

#[test]
fn origins_are_exact() {
    let bearer = format!("Bearer {TOKEN}");
    let with = |origin: &str| {
        let headers = [
            ("host", HOST_NAME),
            ("authorization", &bearer),
            ("origin", origin),
        ];
        network(&headers)
    };
    for origin in [PANEL, "https://panel.example"] {
        assert_eq!(with(origin), Ok(Pass::Owner), "{origin}");
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
        assert_eq!(with(origin), Err(Refusal::Origin), "{origin:?}");
    }
    let twice = [
        ("host", HOST_NAME),
        ("authorization", bearer.as_str()),
        ("origin", PANEL),
        ("origin", PANEL),
    ];
    assert_eq!(network(&twice), Err(Refusal::Origin));
}

#[test]
fn pages_of_another_site_stay_out() {
    let bearer = format!("Bearer {TOKEN}");
    let with = |site: &str, origin: Option<&str>| {
        let mut headers = vec![("host", HOST_NAME), ("authorization", bearer.as_str())];
        headers.push(("sec-fetch-site", site));
        headers.extend(origin.map(|it| ("origin", it)));
        network(&headers)
    };
    for site in ["none", "same-origin"] {
        assert_eq!(with(site, None), Ok(Pass::Owner), "{site}");
    }
    for site in ["cross-site", "same-site", "", "None", "anything"] {
        assert_eq!(with(site, None), Err(Refusal::Site), "{site:?}");
    }
    assert_eq!(with("cross-site", Some(PANEL)), Ok(Pass::Owner));
    let attacker = Some("https://attacker.example");
    assert_eq!(with("cross-site", attacker), Err(Refusal::Origin));
    assert_eq!(with("same-origin", attacker), Err(Refusal::Origin));
}

#[test]
fn a_token_is_shown_in_one_place() {
    let bearer = format!("Bearer {TOKEN}");
    let hidden = carrier(TOKEN);
    let host = ("host", HOST_NAME);
    let panel = ("origin", PANEL);
    for (headers, expected) in [
        (vec![host], Err(Refusal::NoToken)),
        (vec![host, panel], Err(Refusal::NoToken)),
        (vec![host, ("authorization", "")], Err(Refusal::WrongToken)),
        (
            vec![host, ("authorization", "Bearer ")],
            Err(Refusal::WrongToken),
        ),
        (
            vec![host, ("authorization", TOKEN)],
            Err(Refusal::WrongToken),
        ),
        (
            vec![host, ("authorization", "Basic YTpi")],
            Err(Refusal::WrongToken),
        ),
        (
            vec![host, ("authorization", "Bearer wrong")],
            Err(Refusal::WrongToken),
        ),
        (vec![host, ("authorization", &bearer)], Ok(Pass::Owner)),
        (
            vec![
                host,
                ("authorization", &bearer),
                ("authorization", "Bearer wrong"),
            ],
            Err(Refusal::WrongToken),
        ),
        (
            vec![
                host,
                panel,
                ("authorization", &bearer),
                ("sec-websocket-protocol", &hidden),
            ],
            Err(Refusal::WrongToken),
        ),
        // Without an origin it is no browser, and has no need to hide its token there.
        (
            vec![host, ("sec-websocket-protocol", &hidden)],
            Err(Refusal::NoToken),
        ),
        (
            vec![host, panel, ("sec-websocket-protocol", &hidden)],
            Ok(Pass::Owner),
        ),
        (
            vec![host, panel, ("sec-websocket-protocol", PROTOCOL_PANEL)],
            Err(Refusal::NoToken),
        ),
        (
            vec![host, panel, ("sec-websocket-protocol", "tok.!!!")],
            Err(Refusal::WrongToken),
        ),
        (
            vec![
                host,
                panel,
                ("sec-websocket-protocol", &hidden),
                ("sec-websocket-protocol", &hidden),
            ],
            Err(Refusal::WrongToken),
        ),
        (vec![host, ("cookie", TOKEN)], Err(Refusal::NoToken)),
    ] {
        assert_eq!(network(&headers), expected, "{headers:?}");
    }
    let in_query = parts(
        "/api/sessions?token=an-owner-token-of-enough-characters",
        &[host],
    );
    assert_eq!(
        gate().admit(&in_query, Line::Network),
        Err(Refusal::NoToken)
    );
}

#[test]
fn a_ticket_is_handed_on_to_be_looked_up() {
    let host = ("host", HOST_NAME);
    let ticket = "ticket-abc";
    let bearer = format!("Bearer {ticket}");
    let pass = Ok(Pass::Ticket(ticket.to_owned()));
    assert_eq!(network(&[host, ("authorization", &bearer)]), pass);
    let hidden = carrier(ticket);
    let headers = [host, ("origin", PANEL), ("sec-websocket-protocol", &hidden)];
    assert_eq!(network(&headers), pass);
}

#[test]
fn our_own_user_needs_no_token() {
    let local = |headers: &[_]| gate().admit(&parts("/", headers), Line::Local);
    assert_eq!(local(&[]), Ok(Pass::Owner));
    assert_eq!(local(&[("host", "whatever")]), Ok(Pass::Owner));
    // What is shown counts, even where nothing has to be.
    let wrong = [("authorization", "Bearer wrong")];
    assert_eq!(local(&wrong), Err(Refusal::WrongToken));
    let page = [("origin", "https://attacker.example")];
    assert_eq!(local(&page), Err(Refusal::Origin));
    assert_eq!(
        local(&[("sec-fetch-site", "cross-site")]),
        Err(Refusal::Site)
    );
}
