//! Promises that only base connections make: bytes of every length, and buffers.

use super::timeout::succeeds;
use bertha_core::{Base, Buf, Connection, ErrorKind};

/// `Datapath`: "Its connections carry `Buf`s, each a message of at most `mtu` bytes", empty ones included.
pub async fn every_length_arrives<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Buf>,
    B: Connection<Data = Buf>,
{
    // A megabyte stands for all larger lengths.
    let most = a.base().mtu().min(1 << 20);
    for len in
        [0, 1, 2, 63, 64, 1000, 1472, 1473, 9000, most - 1, most].into_iter().filter(|len| *len <= most)
    {
        let bytes: Vec<u8> = (0..len).map(|at| (at * 31 % 251) as u8).collect();
        let mut buf = a.base().buffer(len).unwrap();
        buf.copy_from_slice(&bytes);
        let send = succeeds(a, "send", a.send(buf));
        let recv = succeeds(b, "recv", b.recv());
        let (got, ()) = futures_util::future::join(recv, send).await;
        assert_eq!(got.len(), len, "the length changed");
        assert!(*got == *bytes, "a message of {len} bytes was changed");
    }
}

/// `Base::buffer`: "a buffer of `len` [...] bytes with the reserved headroom in front". A buffer that exceeds
/// the MTU "may lie anywhere", and can't be sent. `Base::reserve`: "Adds `bytes` to the headroom of all later
/// buffers."
pub async fn buffers_have_the_reserved_headroom<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Buf>,
    B: Connection<Data = Buf>,
{
    let before = a.base().reserved();
    a.base().reserve(5);
    a.base().reserve(11);
    let reserved = a.base().reserved();
    assert_eq!(reserved, before + 16);
    for len in [0, 1, 100] {
        let buf = a.base().buffer(len).unwrap();
        assert_eq!(buf.len(), len);
        assert!(buf.headroom() >= reserved, "{} bytes of headroom, {reserved} reserved", buf.headroom());
    }
    let error = match a.base().buffer(a.base().mtu() + 1) {
        Ok(oversize) => a.send(oversize).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    // Only the message itself is sent, whatever room its buffer has around it.
    let mut buf = a.base().buffer(3).unwrap();
    buf.copy_from_slice(b"end");
    buf.prepend(5).unwrap().copy_from_slice(b"front");
    succeeds(a, "send", a.send(buf)).await;
    assert_eq!(&*succeeds(b, "recv", b.recv()).await, b"frontend");
    // The connection also accepts a foreign buffer.
    succeeds(a, "send", a.send(Buf::copy_of(b"foreign", 0).unwrap())).await;
    assert_eq!(&*succeeds(b, "recv", b.recv()).await, b"foreign");
}
