//! What Chunnels note about a connection among participants.

use crate::multi_endpoint::crowd::Crowd;
use crate::multi_endpoint::seeds::with_seeds;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity, make_stack};
use bertha_negotiation::Agreement;

/// Notes a text, and changes no message.
#[derive(Debug, Clone, Identity)]
struct Says(&'static str);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Says {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        context.note("Says", self.0);
        Ok(inner)
    }
}

fn notes(agreement: &Agreement) -> Vec<String> {
    agreement.notes().iter().map(ToString::to_string).collect()
}

#[test]
fn a_participant_shows_the_notes_of_its_own_stack() {
    with_seeds(2, async |crowd: &Crowd, _| {
        let stack = |text| make_stack!(Says(text));
        let one = crowd.join(1, stack("here")).await.unwrap();
        assert_eq!(notes(&one.explain()), ["Says: here"]);
        let two = crowd.join(2, stack("there")).await.unwrap();
        assert_eq!(notes(&two.explain()), ["Says: there"]);
    });
}
