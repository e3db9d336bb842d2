//! Messages in heaps, and as services work with them.

use super::generated;
use crate::hotel::messages::{
    Call, Description, Descriptions, Hotels, Names, Place, Plan, PlanList, Query, Stay,
};
use bertha_managed::heap::{Heap, String as HeapString, Vec as HeapVec};

/// A message that has a form in heaps.
pub(super) trait InHeap {
    /// The form.
    type Form;

    /// Reads a message that is lent.
    fn read(form: &Self::Form) -> Self;

    /// Writes the message into a heap.
    fn write(&self, heap: &Heap) -> Self::Form;
}

fn read_all<M: InHeap>(forms: &[M::Form]) -> Vec<M> {
    forms.iter().map(M::read).collect()
}

fn write_all<M: InHeap>(messages: &[M], heap: &Heap) -> HeapVec<M::Form> {
    let mut forms = HeapVec::with_capacity_in(messages.len(), heap);
    forms.extend(messages.iter().map(|message| message.write(heap)));
    forms
}

impl InHeap for String {
    type Form = HeapString;

    fn read(form: &HeapString) -> Self {
        form.as_str().to_owned()
    }

    fn write(&self, heap: &Heap) -> HeapString {
        HeapString::from_str_in(self, heap)
    }
}

/// Reads and writes the fields of a message: numbers, texts and repeated fields, each by the accessors of its form.
macro_rules! in_heap {
    (
        $message:ident,
        numbers: [$($number:ident $set:ident),*],
        texts: [$($text:ident $text_mut:ident),*],
        many: [$($many:ident $many_mut:ident),*]
    ) => {
        impl InHeap for $message {
            type Form = generated::$message;

            fn read(form: &Self::Form) -> Self {
                Self {
                    $($number: form.$number(),)*
                    $($text: form.$text().to_owned(),)*
                    $($many: read_all(form.$many()),)*
                }
            }

            fn write(&self, heap: &Heap) -> Self::Form {
                let mut form = generated::$message::new_in(heap);
                $(form.$set(self.$number);)*
                $(form.$text_mut().push_str(&self.$text);)*
                $(*form.$many_mut() = write_all(&self.$many, heap);)*
                form
            }
        }
    };
}

in_heap!(Place, numbers: [latitude set_latitude, longitude set_longitude], texts: [], many: []);
in_heap!(Stay, numbers: [], texts: [from from_mut, until until_mut], many: [hotels hotels_mut]);
in_heap!(
    Query,
    numbers: [latitude set_latitude, longitude set_longitude],
    texts: [from from_mut, until until_mut],
    many: []
);
in_heap!(Names, numbers: [], texts: [language language_mut], many: [hotels hotels_mut]);
in_heap!(
    Hotels,
    numbers: [worked_ns set_worked_ns],
    texts: [],
    many: [hotels hotels_mut, calls calls_mut]
);
in_heap!(
    Call,
    numbers: [took_ns set_took_ns, worked_ns set_worked_ns],
    texts: [service service_mut],
    many: []
);
in_heap!(PlanList, numbers: [worked_ns set_worked_ns], texts: [], many: [plans plans_mut]);
in_heap!(
    Plan,
    numbers: [cents_a_night set_cents_a_night],
    texts: [
        hotel hotel_mut, code code_mut, room room_mut, description description_mut, from from_mut, until until_mut
    ],
    many: []
);
in_heap!(Descriptions, numbers: [worked_ns set_worked_ns], texts: [], many: [hotels hotels_mut]);
in_heap!(
    Description,
    numbers: [latitude set_latitude, longitude set_longitude],
    texts: [
        hotel hotel_mut, name name_mut, phone phone_mut, text text_mut, street street_mut, city city_mut
    ],
    many: [pictures pictures_mut]
);
