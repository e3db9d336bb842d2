//! The hotel: five services, each a process, with memcached.

mod cache;
mod hosts;

use bertha_microservice::hotel::load::{Answered, Load, Pace};
use bertha_microservice::hotel::messages::Description;
use bertha_tests::service;
use cache::Cache;
use hosts::{Hosts, Way};

const SEARCHES: Load = Load { pace: Pace::InFlight(1), requests: 30, seed: 1 };

/// Returns the answers to some searches, and to the same again, of a hotel that begins without a cache.
async fn searched_twice(way: Way, cache: &Cache) -> [Vec<Answered>; 2] {
    cache.clear();
    let hosts = Hosts::start(way, cache.0);
    let before = cache.counts();
    let first = SEARCHES.run(hosts.front).await.unwrap();
    let between = cache.counts();
    let second = SEARCHES.run(hosts.front).await.unwrap();
    let after = cache.counts();
    let [_, misses, stored] = between;
    assert!(misses > before[1] && stored > 0, "{way:?}: {before:?}, {between:?}");
    // Everything is there the second time, and it is looked for.
    assert_eq!(after[1..], between[1..], "{way:?}");
    let looked_for = |from: [u64; 3], to: [u64; 3]| to[0] + to[1] - from[0] - from[1];
    assert_eq!(after[0] - between[0], looked_for(before, between), "{way:?}");
    assert_cache_is_believed(&hosts, cache, &first[0]).await;
    [first, second]
}

/// Changes a fact in the cache, and sees the change in the answer to the first search.
async fn assert_cache_is_believed(hosts: &Hosts, cache: &Cache, answer: &Answered) {
    let mut hotels: Vec<Description> = serde_json::from_slice(&answer.body).unwrap();
    hotels[0].name = "Out of the Cache".into();
    let key = format!("profile:{}", hotels[0].hotel);
    cache.set(&key, &serde_json::to_string(&hotels[0]).unwrap());
    let changed = Load { requests: 1, ..SEARCHES }.run(hosts.front).await.unwrap();
    assert_eq!(serde_json::from_slice::<Vec<Description>>(&changed[0].body).unwrap(), hotels);
}

fn bodies(answers: &[Answered]) -> Vec<&str> {
    answers.iter().map(|answer| str::from_utf8(&answer.body).unwrap()).collect()
}

fn assert_times(answers: &[Answered]) {
    for answer in answers {
        let names: Vec<_> = answer.calls.iter().map(|call| call.service.as_str()).collect();
        assert_eq!(names, ["front", "search", "geo", "rate", "profile"]);
        let [front, search, geo, rate, profile] = &answer.calls[..] else { unreachable!() };
        assert!(answer.calls.iter().all(|call| 0 < call.worked_ns && call.worked_ns < call.took_ns));
        assert!(
            search.worked_ns > geo.worked_ns + rate.worked_ns && search.took_ns > geo.took_ns + rate.took_ns
        );
        assert!(front.worked_ns > search.worked_ns + profile.worked_ns);
        assert!(answer.took.as_nanos() as u64 > front.took_ns);
    }
}

#[tokio::test]
async fn searches_have_the_same_answers_through_daemons_and_by_grpc_and_the_second_time_out_of_the_cache() {
    let Some(addr) = service("BERTHA_MEMCACHED") else { return };
    let cache = Cache(addr.parse().unwrap());
    let [first, second] = searched_twice(Way::Daemons, &cache).await;
    assert_eq!(bodies(&first), bodies(&second));
    let hotels: Vec<Vec<Description>> =
        first.iter().map(|answer| serde_json::from_slice(&answer.body).unwrap()).collect();
    assert!(hotels.iter().filter(|hotels| hotels.len() == 5).count() > 20, "{hotels:?}");
    assert_times(&first);
    let [by_grpc, again] = searched_twice(Way::Grpc, &cache).await;
    assert_eq!(bodies(&first), bodies(&by_grpc));
    assert_eq!(bodies(&first), bodies(&again));
    assert_times(&by_grpc);
}
