/*
 * Bertha for C: connections whose stacks of network functions two ends agree on.
 *
 * Handles. Connections, listeners and options are named by numbers. Zero names nothing, and so does a handle that was
 * released: such a handle, or one of another kind, is BERTHA_BAD_HANDLE. Any thread may use any handle, several at once too.
 * bertha_release releases each.
 *
 * Results. A function returns BERTHA_OK, or the kind of an error. Results of a function that fails are not written, except where a
 * function says so.
 *
 * Time. A function that may wait takes a number of milliseconds: -1 waits without limit, and 0 never waits. When the time is up, the
 * function returns BERTHA_WOULD_BLOCK, and nothing is lost: a message that was not received is there for the next call, and what takes
 * long goes on. With bertha_descriptor, poll and epoll say when a call with a time of zero may go on.
 *
 * Signals. A signal with a handler does not end a wait. A program that a signal should end waits for a limited time at once, or polls
 * descriptors, and looks at what its handler has noted.
 *
 * Threads. The first call begins a runtime with threads of its own, named bertha. A child of fork has none of them: each of its
 * calls is BERTHA_FORKED, unless the fork came before the first call.
 *
 * Texts are UTF-8 with a zero at their end, of less than 64 KiB.
 *
 * This file is made by cbindgen.
 */


#ifndef BERTHA_H
#define BERTHA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The result of a function: zero if it has done its work, or the kind of error.
//
// bertha_error_message() has the text of this thread's latest error, and bertha_error_ends_connection() tells
// if the connection has ended with it.
enum bertha_code {
  // The work is done.
  BERTHA_OK = 0,
  // One of the ends closed the connection in order.
  BERTHA_CLOSED = 1,
  // The connection was cut: messages of either end may be missing.
  BERTHA_RESET = 2,
  // The peer did not answer in time.
  BERTHA_TIMED_OUT = 3,
  // The address does not answer.
  BERTHA_UNREACHABLE = 4,
  // This machine did not send the message, or no route leads to the host.
  BERTHA_NOT_SENT = 5,
  // The two ends have no stack that both can run.
  BERTHA_REFUSED = 6,
  // The two ends speak different versions of the protocol.
  BERTHA_VERSION = 7,
  // The other end did not prove that it has the right key, or asks for a key that this end lacks.
  BERTHA_UNAUTHENTICATED = 8,
  // Bytes that do not follow the agreed format.
  BERTHA_MALFORMED = 9,
  // A message is longer than the connection carries, or longer than the memory for it.
  BERTHA_TOO_LARGE = 10,
  // A bounded resource is used up for the moment.
  BERTHA_EXHAUSTED = 11,
  // The address to listen at belongs to another socket.
  BERTHA_ADDRESS_IN_USE = 12,
  // This build or this machine does not have the feature.
  BERTHA_UNAVAILABLE = 13,
  // The call or the configuration makes no sense.
  BERTHA_INVALID = 14,
  // An error of the operating system for which there is no other code.
  BERTHA_IO = 15,
  // The handle is none: it was released, or is zero, or names an object of another kind.
  BERTHA_BAD_HANDLE = 16,
  // An argument that no call takes: a null pointer, a text that is not UTF-8, a length beyond all memory.
  BERTHA_BAD_ARGUMENT = 17,
  // The time of the call is up, and the call has done nothing.
  BERTHA_WOULD_BLOCK = 18,
  // The process was forked after its first call of Bertha. The child has no threads of the library.
  BERTHA_FORKED = 19,
  // An error in this library, which goes on.
  BERTHA_PANIC = 20,
};

// A message in memory of the library. It belongs to the caller until it is sent or released. A message that is sent may be
// shorter than the buffer: set the length; the rest is not to be changed.
struct bertha_buffer {
  // The bytes, which lie there until the buffer is sent or released.
  uint8_t *data;
  // Number of bytes.
  size_t length;
  // Names the buffer.
  uint64_t handle;
};

// Figures of a connection, since it was made.
struct bertha_figures {
  // Number of messages that calls have sent.
  uint64_t sent_messages;
  // Bytes of messages that calls have sent.
  uint64_t sent_bytes;
  // Number of messages that calls have received.
  uint64_t received_messages;
  // Bytes of messages that calls have received.
  uint64_t received_bytes;
  // Number of messages that arrived damaged, late or forged, and were dropped.
  uint64_t dropped;
  // Number of dropped messages that lacked the proof that they needed.
  uint64_t forged;
  // Length of the longest message that the connection carries, in bytes.
  uint64_t longest_message;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library, such as "0.1.0".
const char *bertha_version(void);

// Returns a few words for a code, such as "timed out".
const char *bertha_code_name(int code);

// Returns the text of the latest error of this thread, which is there until the next error of this thread.
const char *bertha_error_message(void);

// Returns true if the connection has ended with the latest error of this thread: then every later call fails at once, but
// calls that receive messages which had arrived before.
bool bertha_error_ends_connection(void);

// Releases what a handle names, of any kind. Calls of other threads that wait for it end with BERTHA_BAD_HANDLE. A
// connection that was not closed is cut: the peer sees BERTHA_RESET.
int bertha_release(uint64_t handle);

// Writes a descriptor for poll and epoll, which is readable when a call with a time of zero may go on: to receive, accept
// or finish, to send after BERTHA_WOULD_BLOCK, and to see the end of a drain, close or upgrade.
//
// The descriptor is level-triggered: it stays readable until a call has found nothing. It may be readable in vain. It
// belongs to the handle, which closes it when it is released; read, write or close it never.
int bertha_descriptor(uint64_t handle,
                      int *descriptor);

// Makes options, which are those by default.
int bertha_options_create(uint64_t *options);

// Sets an option by its name. Connections and listeners take the options that are set when they begin.
//
// Names, of which the first are for Chunnels of the stack: tls-cert, tls-key and tls-ca (files in PEM), tls-name (the name in the
// server's certificate, if it is not the host's), key-file (the shared key of noise, in 64 hexadecimal digits), congestion
// (the control of reliable, such as cubic), qlog (a folder), directory (the socket of the directory for maybe-local);
// handshake-timeout, idle-timeout, close-timeout, drain-timeout (milliseconds); connections, concurrent-handshakes,
// offers-per-second (limits of a listener); require-encryption (yes: no other stack is agreed on); upgradable (yes, at both ends: the
// stack can change by bertha_upgrade).
int bertha_options_set(uint64_t options,
                       const char *name,
                       const char *value);

// Connects to the server at an address, and agrees with it on a stack.
//
// The datapath is udp, tcp, unix, unix-stream or shm, or another that the library was built with. The address is IP:PORT, HOST:PORT, or
// unix:PATH for the last three. The stack has the Chunnels, top first, with alternatives: "ordered,reliable,tls|checksum". The options may be 0. The
// time is in milliseconds; -1 is without limit. When it is up, the connection is given up.
int bertha_connect(const char *datapath,
                   const char *address,
                   const char *stack,
                   uint64_t options,
                   int64_t milliseconds,
                   uint64_t *connection);

// Begins to connect as bertha_connect does, and does not wait. The handle has a descriptor.
int bertha_connect_start(const char *datapath,
                         const char *address,
                         const char *stack,
                         uint64_t options,
                         uint64_t *connecting);

// Waits for what bertha_connect_start has begun. While it goes on, the function returns BERTHA_WOULD_BLOCK when the time is up; else the
// handle is released.
int bertha_connect_finish(uint64_t connecting,
                          int64_t milliseconds,
                          uint64_t *connection);

// Listens at an address, with the names of bertha_connect. Port 0 leaves the port to the system. Clients agree on their stacks in the
// background, and wait for bertha_accept, a few at most; others wait in the system.
int bertha_listen(const char *datapath,
                  const char *address,
                  const char *stack,
                  uint64_t options,
                  uint64_t *listener);

// Writes the address of a listener as text, as bertha_explain writes.
int bertha_listener_address(uint64_t listener, char *text, size_t capacity, size_t *length);

// Waits for the next client.
int bertha_accept(uint64_t listener, int64_t milliseconds, uint64_t *connection);

// Sends a message, which is copied.
//
// BERTHA_OK says that the message was taken: the datapath has it, or gets it as soon as there is room. BERTHA_WOULD_BLOCK says that
// it was not. An error of a message that was taken earlier is told by the next call.
int bertha_send(uint64_t connection,
                const void *data,
                size_t length,
                int64_t milliseconds);

// Receives a message into memory of this capacity, and writes its length. A message that is longer stays for the next
// call: the function returns BERTHA_TOO_LARGE, and writes its length all the same.
int bertha_receive(uint64_t connection, void *data, size_t capacity, size_t *length, int64_t milliseconds);

// Makes a buffer of this length for a message of this connection. Its bytes may hold anything.
int bertha_buffer_create(uint64_t connection, size_t length, struct bertha_buffer *buffer);

// Releases a buffer.
int bertha_buffer_release(const struct bertha_buffer *buffer);

// Receives a message, without a copy. The caller releases the buffer, or sends it, over any connection.
int bertha_receive_buffer(uint64_t connection, struct bertha_buffer *buffer, int64_t milliseconds);

// Sends a buffer, without a copy. The buffer is the library's again, unless the function returns BERTHA_WOULD_BLOCK,
// BERTHA_TOO_LARGE, BERTHA_BAD_HANDLE or BERTHA_BAD_ARGUMENT.
int bertha_send_buffer(uint64_t connection, const struct bertha_buffer *buffer, int64_t milliseconds);

// Sends a burst of buffers, at most 4096, without copies. Over a datapath that keeps no order, messages of a burst may change places.
//
// The buffers are the library's again, unless the function returns BERTHA_WOULD_BLOCK, BERTHA_TOO_LARGE, BERTHA_BAD_HANDLE or
// BERTHA_BAD_ARGUMENT: then all are the caller's. After another error, a first part was sent, and the rest is lost.
int bertha_send_burst(uint64_t connection,
                      const struct bertha_buffer *buffers,
                      size_t count,
                      int64_t milliseconds);

// Receives the messages that are there, at least one and at most `capacity`, and writes their number. The caller releases or
// sends each of the buffers.
int bertha_receive_burst(uint64_t connection,
                         struct bertha_buffer *buffers,
                         size_t capacity,
                         size_t *count,
                         int64_t milliseconds);

// Sends what the stack holds back, and waits until none of it has to be sent again. When the time is up, the work goes on, and a
// later call waits for the same.
int bertha_drain(uint64_t connection,
                 int64_t milliseconds);

// Sends what the stack holds back, tells the peer, and closes the connection, whose handle is still to be released. When the time is up,
// the work goes on, and a later call waits for the same.
int bertha_close(uint64_t connection,
                 int64_t milliseconds);

// Changes the stack to another alternative, counted from 0, of its first choice, while messages flow. Both ends need the option
// upgradable. When the time is up, the work goes on, and a later call waits for the same.
int bertha_upgrade(uint64_t connection,
                   uint32_t alternative,
                   int64_t milliseconds);

// Writes the stack in use, and the reasons for it, as text with a zero at its end, and the length without the zero. If there is no room,
// the function returns BERTHA_TOO_LARGE, and writes the length alone: with a capacity of 0 it only asks for the length.
int bertha_explain(uint64_t connection,
                   char *text,
                   size_t capacity,
                   size_t *length);

// Writes the state of each layer as text, a line for each, as bertha_explain writes.
int bertha_statistics_text(uint64_t connection, char *text, size_t capacity, size_t *length);

// Writes the address of the peer, as bertha_explain writes.
int bertha_peer_address(uint64_t connection, char *text, size_t capacity, size_t *length);

// Writes the address of this end, as bertha_explain writes.
int bertha_local_address(uint64_t connection, char *text, size_t capacity, size_t *length);

// Writes the identity that the peer has proved, such as its certificate, or a text of length 0 if there is none, as
// bertha_explain writes.
int bertha_peer_identity(uint64_t connection, char *text, size_t capacity, size_t *length);

// Writes figures of a connection.
int bertha_statistics(uint64_t connection, struct bertha_figures *figures);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BERTHA_H */
