//! Authentication: the checks of a request, the token and the tickets.

mod attach_limit;
mod credential;
mod named;
mod page_address;
mod page_token;
mod request_auth;
mod tickets;
mod token;

pub(crate) use attach_limit::{AttachSlot, ConnectionAttaches};
pub(crate) use credential::{AuthError, PROTOCOL_FRAMES, PROTOCOL_WEB_TERMINAL, TICKET_PREFIX};
pub(crate) use named::CurrentNamedTokens;
pub use named::{NamedToken, NamedTokenError, NamedTokens, TokenScope, UnknownScope};
pub(crate) use page_address::PageAddress;
pub(crate) use page_token::make_page_token;
pub(crate) use request_auth::{
    Authenticated, ConnectionGuard, Peer, PeerKind, Principal, RequestAuth, accepted_hosts,
    accepted_origins,
};
pub(crate) use tickets::{OneTimeTicket, TicketStore};
pub(crate) use token::{CurrentToken, hmac_sha256, random_secret};
pub use token::{TokenError, read_or_create_token};
