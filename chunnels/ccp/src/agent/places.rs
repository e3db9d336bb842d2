//! The places of an agent's datapaths. Sans-IO.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The datapaths that have a place, each with a value.
#[derive(Debug)]
pub(super) struct Places<T> {
    most: usize,
    /// The number of the next datapath.
    next: u64,
    taken: HashMap<PathBuf, Place<T>>,
}

#[derive(Debug)]
struct Place<T> {
    /// Smaller for a datapath that has come earlier.
    number: u64,
    value: T,
}

/// All places are taken by datapaths with flows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl<T> Places<T> {
    /// Makes places for at most so many datapaths.
    pub(super) fn new(most: usize) -> Self {
        Self { most, next: 0, taken: HashMap::new() }
    }

    /// Makes room for a newcomer. If all places are taken, the oldest datapath without a flow loses its place, and is
    /// returned: an agent does nothing for it.
    ///
    /// # Errors
    /// [`Full`] if all datapaths have flows.
    pub(super) fn make_room(
        &mut self,
        has_flow: impl Fn(&Path) -> bool,
    ) -> Result<Option<(PathBuf, T)>, Full> {
        if self.taken.len() < self.most {
            return Ok(None);
        }
        let idle = self.taken.iter().filter(|(datapath, _)| !has_flow(datapath));
        let (datapath, _) = idle.min_by_key(|(_, place)| place.number).ok_or(Full)?;
        let datapath = datapath.clone();
        Ok(self.remove(&datapath).map(|value| (datapath, value)))
    }

    /// Gives a place to a datapath, for which there is room.
    pub(super) fn add(&mut self, datapath: PathBuf, value: T) {
        self.taken.insert(datapath, Place { number: self.next, value });
        self.next += 1;
    }

    pub(super) fn get(&self, datapath: &Path) -> Option<&T> {
        self.taken.get(datapath).map(|place| &place.value)
    }

    pub(super) fn remove(&mut self, datapath: &Path) -> Option<T> {
        self.taken.remove(datapath).map(|place| place.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_datapath_without_a_flow_makes_room() {
        let mut places = Places::new(3);
        for (value, datapath) in ["/a", "/b", "/c"].into_iter().enumerate() {
            assert_eq!(places.make_room(|_| false), Ok(None));
            places.add(datapath.into(), value);
        }
        let has_flow = |datapath: &Path| datapath == Path::new("/a");
        assert_eq!(places.make_room(has_flow), Ok(Some(("/b".into(), 1))));
        assert_eq!(places.make_room(has_flow), Ok(None));
        places.add("/d".into(), 3);
        assert_eq!(places.make_room(|_| true), Err(Full));
        assert_eq!(places.make_room(has_flow), Ok(Some(("/c".into(), 2))));
        assert_eq!([places.get(Path::new("/c")), places.get(Path::new("/d"))], [None, Some(&3)]);
    }
}
