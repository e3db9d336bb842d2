//! Fields of a message that are read together.

/// The fields of a message that several policies read, with the messages that lead to them.
///
/// # Example
/// ```no_run
/// use bertha_schemas::{Fault, Fields, Limits, Memory, MessageId, Partly, Path, Plan, PrivateMemory, Room};
///
/// /// Copies the customer of a request, looks at it, and copies the rest of the request.
/// fn pass_on(plan: &Plan, request: MessageId, customer: &Path, heap: &impl Memory, at: u64, room: &mut impl Room) -> Result<u64, Fault> {
///     let (mut copy, limits) = (PrivateMemory::of(1 << 20), Limits::default());
///     let fields = [customer].into_iter().collect::<Fields>();
///     let at = plan.copy_fields(request, &fields, heap, at, &mut copy, limits)?;
///     if customer.any(&copy, at, |_| false) { /* .. */ }
///     plan.copy(request, &Partly::new(&copy, heap), at, room, limits)
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Fields(Vec<Field>);

/// A field, with those that are read of the messages in it.
#[derive(Debug, Clone)]
struct Field {
    number: u32,
    inner: Fields,
}

impl Fields {
    /// Adds the field to which fields of these numbers lead, if it is not there.
    pub(crate) fn add(&mut self, numbers: impl Iterator<Item = u32>) {
        let mut fields = self;
        for number in numbers {
            let place = fields.0.iter().position(|field| field.number == number).unwrap_or_else(|| {
                fields.0.push(Field { number, inner: Self::default() });
                fields.0.len() - 1
            });
            fields = &mut fields.0[place].inner;
        }
    }

    /// Returns what is read of the messages in a field, if the field is there.
    #[inline]
    pub(crate) fn inner(&self, number: u32) -> Option<&Self> {
        self.0.iter().find(|field| field.number == number).map(|field| &field.inner)
    }
}
