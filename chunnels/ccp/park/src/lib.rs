//! Congestion control as an environment for reinforcement learning (Park, thesis 4.7.5), in virtual time.
//!
//! A learner sets the window of a flow once per round trip. Its actions reach the flow as those of every algorithm
//! of CCP do: an agent installs a program in the datapath, which measures and reports, and the answer is a window.
//!
//! | part | function |
//! |---|---|
//! | [`episode`] | a flow over the path of the thesis, with a function that chooses the windows |
//! | [`Observation`] | the measurements of a round trip, and their reward |
//! | [`Vegas`], [`Fixed`] | policies to compare with |
//! | [`Learner`] | the cross-entropy method, over all windows or a confined range of them |
//! | [`serve`] | the interface of Gymnasium in lines of JSON, for learners of any language |
//!
//! ```sh
//! cargo run --release -p bertha-park            # an environment on standard input and output
//! cargo run --release -p bertha-park -- learn   # the learner of this crate, and its policy
//! ```
//!
//! An episode is a function of its seed and of the chosen windows.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests panic to fail"))]

mod episode;
mod learner;
mod observation;
mod path;
mod policy;
mod protocol;
mod steering;

pub use episode::episode;
pub use learner::Learner;
pub use observation::Observation;
pub use path::{PRODUCT, STEPS, WINDOWS};
pub use policy::{Fixed, Policy, Score, Vegas, score};
pub use protocol::serve;
