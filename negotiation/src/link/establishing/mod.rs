//! A link on its way to the state [`Up`](super::LinkState::Up).
//!
//! ```text
//!  a client that has built         a server that takes           a server that lets the
//!  the expected stack              early messages                client in on its word
//!         |                               |                              |
//!         v                               v                              v
//!   AwaitingAnswer                  AnswerPending --answer sent--> AddressUnvalidated
//!         |                               |          (address not        |
//!         |                          answer sent      validated)     confirmation
//!    server agrees              (address validated)                      |
//!         |                               v                              |
//!         +-----------------------------> Up <---------------------------+
//!                                         ^
//!                                         |
//!        a client that has its answer, or a server whose client has confirmed
//!
//!  any state --> Ended(reason); the first reason stays
//! ```
//!
//! * [`client`]: the handshake of a client that waits for the answer before it builds its stack.
//! * [`early_handshake`]: `AwaitingAnswer`. The stack is built before the answer, and its messages leave with
//!   the offer. [`early_link`]: the handshake's handle to the link.
//! * [`pending_answer`]: `AnswerPending`. The answer waits for data to go with. [`answer_task`]: the task
//!   that sends the answers for which no data came.
//! * [`address_validation`]: `AddressUnvalidated`. The server sends within the anti-amplification limit.
//! * [`calls`]: the calls of a stack on a link that is not up yet.
//! * [`setup`]: the time in which Chunnels are built on a link, and may fail.

mod address_validation;
mod answer_task;
mod calls;
mod client;
mod early_handshake;
mod early_link;
mod pending_answer;
mod setup;

pub(crate) use address_validation::AddressChallenge;
pub(super) use address_validation::UnvalidatedAddress;
pub(crate) use answer_task::AnswerTask;
pub(crate) use client::establish;
pub(super) use early_handshake::EarlyHandshake;
pub(crate) use early_link::{Answered, EarlyLink, given_up};
pub(crate) use setup::Setup;
