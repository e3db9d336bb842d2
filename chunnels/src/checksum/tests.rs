use super::Checksum;
use bertha_core::{Buf, Connection, Wrap};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;
use futures_util::FutureExt;

#[tokio::test]
async fn every_flipped_bit_and_every_cut_is_found() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Checksum::new().wrap(there).await.unwrap();
    // The check value of CRC-32 (IEEE 802.3).
    let good = [&0xcbf4_3926_u32.to_le_bytes()[..], b"123456789"].concat();
    let send = async |bytes: &[u8]| here.send(Buf::copy_of(bytes, 0).unwrap()).await.unwrap();
    let mut damaged = 0;
    for bit in 0..8 * good.len() {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        send(&bytes).await;
        assert!(there.recv().now_or_never().is_none(), "bit {bit}");
        damaged += 1;
    }
    for length in 0..good.len() {
        send(&good[..length]).await;
        assert!(there.recv().now_or_never().is_none(), "{length} bytes");
        damaged += 1;
    }
    assert_eq!(there.damaged(), damaged);
    send(&good).await;
    assert_eq!(*there.recv().await.unwrap(), *b"123456789");
    there.send(Buf::copy_of(b"123456789", 0).unwrap()).await.unwrap();
    assert_eq!(*here.recv().await.unwrap(), *good);
}

#[tokio::test]
async fn a_burst_loses_its_damaged_messages_alone() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Checksum::new().wrap(there).await.unwrap();
    let mut burst = Vec::new();
    for number in 0..4 {
        let check = crc32fast::hash(&[number]).to_le_bytes();
        let mut message = Buf::copy_of(&[&check[..], &[number]].concat(), 0).unwrap();
        message[0] ^= number % 2;
        burst.push(message);
    }
    here.send_batch(burst.drain(..)).await.unwrap();
    while burst.len() < 2 {
        there.recv_batch(&mut burst, 8).await.unwrap();
    }
    assert_eq!(burst.iter().map(|message| message[0]).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(there.damaged(), 2);
}
