//! The ways of a service's calls to several servers.

use crate::destinations::route::Route;
use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// The ways of a service's calls to servers, of which each call takes one. None is there twice.
///
/// # Example
/// ```
/// let routes: bertha_rpcd::Routes = "10.0.0.2:7000,grpc:10.0.0.3:50051".parse()?;
/// assert_eq!(routes.iter().count(), 2);
/// # Ok::<(), bertha_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes(Vec<Route>);

impl Routes {
    /// Maximum number of servers.
    pub const MOST: usize = 64;

    /// Returns the routes to these servers.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for none, for more than [`MOST`](Self::MOST), and for a server that is there twice.
    pub fn new(routes: Vec<Route>) -> Result<Self, Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::Invalid, what));
        if routes.is_empty() {
            return wrong("a route leads to a server".into());
        }
        if routes.len() > Self::MOST {
            return wrong(format!("a route leads to {} servers at most", Self::MOST));
        }
        let mut earlier = routes.iter().enumerate();
        match earlier.find(|(place, route)| routes[..*place].contains(route)) {
            Some((_, twice)) => wrong(format!("a route leads to {twice} twice")),
            None => Ok(Self(routes)),
        }
    }

    /// Returns the routes in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Route> {
        self.0.iter()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Route> {
        self.0.get(place)
    }
}

impl From<Route> for Routes {
    fn from(route: Route) -> Self {
        Self(vec![route])
    }
}

impl From<SocketAddr> for Routes {
    fn from(addr: SocketAddr) -> Self {
        Route::from(addr).into()
    }
}

impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, route) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{route}")?;
        }
        Ok(())
    }
}

impl FromStr for Routes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read_as_they_are_shown() {
        for text in
            ["10.0.0.2:7000", "10.0.0.2:7000,[::1]:7000,grpc:10.0.0.2:7000,grpcs:a.example@10.0.0.2:7000"]
        {
            assert_eq!(text.parse::<Routes>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn no_server_is_there_twice_and_there_are_not_too_many() {
        let refusal = |text: &str| text.parse::<Routes>().unwrap_err().to_string();
        assert!(refusal("[::1]:7,10.0.0.2:7,[0:0::1]:7").contains("[::1]:7 twice"));
        for wrong in ["", ",", "10.0.0.2:7,", "10.0.0.2:7,there"] {
            assert!(wrong.parse::<Routes>().is_err(), "{wrong}");
        }
        let many =
            |count: u16| (1..=count).map(|port| format!("10.0.0.2:{port}")).collect::<Vec<_>>().join(",");
        assert_eq!(many(64).parse::<Routes>().unwrap().iter().len(), Routes::MOST);
        assert!(refusal(&many(65)).contains("64 servers at most"));
        assert!(Routes::new(Vec::new()).is_err());
    }
}
