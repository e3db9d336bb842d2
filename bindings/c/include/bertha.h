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
  // Nothing further comes: a stream has ended, a service has ended, or nobody waits for what is sent.
  BERTHA_END = 21,
  // The service says that the call has failed.
  BERTHA_CALL_FAILED = 22,
  // The service or this end has no room for the call.
  BERTHA_CALL_OVERLOADED = 23,
  // The deadline passed before a response came.
  BERTHA_CALL_TIMED_OUT = 24,
  // The service has no such method.
  BERTHA_CALL_UNKNOWN_METHOD = 25,
  // A request or a response does not follow the format.
  BERTHA_CALL_MALFORMED = 26,
  // A request or a response is larger than a message may be.
  BERTHA_CALL_TOO_LARGE = 27,
  // The connection of the call has ended.
  BERTHA_CALL_DISCONNECTED = 28,
  // The service does not permit the call to this caller.
  BERTHA_CALL_DENIED = 29,
  // The service shuts down.
  BERTHA_CALL_UNAVAILABLE = 30,
};

// A message in memory of the library. It belongs to the caller until it is sent or released. A message that is sent may be
// shorter than the buffer: set the length; the rest is not to be changed, and a buffer whose data were moved is not sent.
struct bertha_buffer {
  // The bytes, which lie there until the buffer is sent or released.
  uint8_t *data;
  // Number of bytes.
  size_t length;
  // Names the buffer.
  uint64_t handle;
};

// A name and a value that go with a call, beside its request, or with its answer. Names have letters in lower case, digits, `-`, `_` and `.`; values are
// bytes. A call has at most 64 of them, of 8 KiB together.
struct bertha_entry {
  // The name.
  const char *name;
  // The value.
  const void *value;
  // Number of bytes of the value.
  size_t length;
};

// A call to be made. One that is all zeros but for its method has an empty request and no deadline.
struct bertha_request {
  // The name of the method.
  const char *method;
  // The request.
  const void *data;
  // Number of bytes of the request.
  size_t length;
  // Names and values beside the request.
  const struct bertha_entry *metadata;
  // Number of names and values.
  size_t entries;
  // The milliseconds after which the call fails; without limit if they are zero or less.
  int64_t deadline;
  // The number is not zero if further requests follow, by bertha_call_send.
  int has_requests;
  // The number is not zero for a method with a stream of responses, which bertha_call_start calls.
  int has_responses;
};

// The function that answers a call: it gets the context of the service, the handle of the call, and the place of the method in the list
// of the service. It answers or fails the call, or keeps the handle, with which any thread answers later. It may use all
// functions, but bertha_close for its own service, and may wait. It ends by returning: no exception of C++ and no longjmp leaves it, and it does not
// end its thread, as pthread_exit and pthread_cancel do: at best, the process aborts then.
typedef void (*bertha_handler)(void *context, uint64_t call, size_t method);

// The methods of a service, and who answers.
struct bertha_methods {
  // The names of the methods.
  const char *const *names;
  // Number of the names, at most 4096.
  size_t count;
  // Answers calls, or is null: then bertha_accept returns them.
  bertha_handler handler;
  // Goes to the handler as it is.
  void *context;
  // Number of threads in which the handler runs, from 1 to 256; calls beyond wait, in turn and up to their deadlines.
  uint32_t threads;
};

// A call that has arrived.
struct bertha_arrival {
  // The place of the method in the list of the service.
  size_t method;
  // The request, which lies there until the call is answered or released.
  const uint8_t *data;
  // Number of bytes of the request.
  size_t length;
  // The milliseconds until the client gives up, or -1 without a deadline.
  int64_t milliseconds;
  // True once nobody waits for the answer: the client has cancelled the call or is gone, or the deadline has passed.
  bool is_cancelled;
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

// Returns true if the call that failed with the latest error of this thread may have run at the service, or a part of it.
bool bertha_error_may_have_run(void);

// Releases what a handle names, of any kind. Calls of other threads that wait for it end with BERTHA_BAD_HANDLE. A
// connection that was not closed is cut: the peer sees BERTHA_RESET. A call that was made is cancelled, and one that has arrived
// fails. A service ends at once, but for callbacks that run: bertha_close waits for them.
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
//
// With the datapath topic, the connection publishes to a topic of a messaging service: the address is memory:TOPIC, within this process, or
// nats://HOST:PORT/TOPIC, kafka://, redis://, sqs://, pubsub:// or azure://, if the library was built with it. With ?subscription=NAME
// behind the address the connection receives instead, and ?create=yes makes the topic unless it exists; an ampersand joins the two. Ends of topics do
// not agree on stacks.
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

// Writes the address of a listener or of a service as text, as bertha_explain writes.
int bertha_listener_address(uint64_t listener, char *text, size_t capacity, size_t *length);

// Waits for the next client of a listener, and writes its connection; or for the next call of a service without callbacks, and
// writes the call. BERTHA_END says that the service was closed.
int bertha_accept(uint64_t listener,
                  int64_t milliseconds,
                  uint64_t *connection);

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
//
// A message of a topic is acknowledged, before any work with it: bertha_receive_buffer and bertha_acknowledge leave time for it.
int bertha_receive(uint64_t connection,
                   void *data,
                   size_t capacity,
                   size_t *length,
                   int64_t milliseconds);

// Makes a buffer of this length for a message of this connection. Its bytes may hold anything.
int bertha_buffer_create(uint64_t connection, size_t length, struct bertha_buffer *buffer);

// Releases a buffer. A message of a topic that was not acknowledged is delivered again.
int bertha_buffer_release(const struct bertha_buffer *buffer);

// Receives a message, without a copy. The caller releases the buffer, or sends it, over any connection.
int bertha_receive_buffer(uint64_t connection, struct bertha_buffer *buffer, int64_t milliseconds);

// Acknowledges the message of a topic, whose work is done, so that it is not delivered again, and releases its buffer. Other
// buffers are only released.
int bertha_acknowledge(const struct bertha_buffer *buffer);

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

// Makes a client of the service at an address, with the names of bertha_connect.
//
// The stack is for bytes, and reliable, by itself or by its datapath. With a time of 0 the function does not wait: the connection is
// made in the background, calls wait for it, and fail with its error. When another time is up, the connection is given up. The option
// codec names the format of requests and responses, which the two ends compare.
int bertha_client(const char *datapath,
                  const char *address,
                  const char *stack,
                  uint64_t options,
                  int64_t milliseconds,
                  uint64_t *client);

// Makes a call with one response, and waits for it, up to the deadline of the call. The caller releases the response, as a
// buffer.
int bertha_call(uint64_t client,
                const struct bertha_request *call,
                struct bertha_buffer *response);

// Begins a call, and does not wait. The handle has a descriptor; bertha_call_receive waits for the response, or for each of a stream.
// Releasing the handle cancels the call.
int bertha_call_start(uint64_t client,
                      const struct bertha_request *call,
                      uint64_t *started);

// Receives the next response to a call that was made, or the next of the further requests of a call that has arrived. BERTHA_END says
// that there is none. The caller releases the buffer.
//
// The first use for a call that has arrived lets its client send; it comes before the first response.
int bertha_call_receive(uint64_t call,
                        struct bertha_buffer *buffer,
                        int64_t milliseconds);

// Sends a further request of a call that was made, or a response of a stream to a call that has arrived. BERTHA_END says that
// nobody wants it. At most 16 wait here for the other end; the next waits for room, and with BERTHA_WOULD_BLOCK it was not taken.
int bertha_call_send(uint64_t call,
                     const void *data,
                     size_t length,
                     int64_t milliseconds);

// Ends the further requests of a call that was made; or the stream of responses to a call that has arrived, whose handle is then
// released.
int bertha_call_end(uint64_t call);

// Serves methods at an address, with the names of bertha_client. Port 0 leaves the port to the system, and
// bertha_listener_address tells it.
int bertha_serve(const char *datapath,
                 const char *address,
                 const char *stack,
                 uint64_t options,
                 const struct bertha_methods *methods,
                 uint64_t *service);

// Writes what a call is that has arrived. Its descriptor is readable once it is cancelled.
int bertha_call_arrival(uint64_t call, struct bertha_arrival *arrival);

// Writes the first value of a name of the metadata of a call that has arrived, or of the answer to a call that was made, and its length. BERTHA_END
// says that there is none. If there is no room, the function returns BERTHA_TOO_LARGE, and writes the length alone.
//
// The metadata of an answer comes with the response, with the end of a stream of responses, or with the failure; it is BERTHA_WOULD_BLOCK before.
int bertha_call_metadata(uint64_t call,
                         const char *name,
                         void *value,
                         size_t capacity,
                         size_t *length);

// Adds a name and a value to the metadata that goes with the answer to a call that has arrived, or with its failure: before either.
int bertha_call_add_metadata(uint64_t call,
                             const struct bertha_entry *entry);

// Answers a call that has arrived, and releases its handle; after responses of a stream it is the last of them. BERTHA_END says that
// no client waits for the answer any more.
int bertha_answer(uint64_t call,
                  const void *data,
                  size_t length);

// Fails a call that has arrived, or its stream of responses, with a code from BERTHA_CALL_FAILED on and a text, and releases its handle.
// The client learns that the call may have run.
int bertha_fail(uint64_t call,
                int code,
                const char *reason);

// Sends what the stack holds back, and waits until none of it has to be sent again. When the time is up, the work goes on, and a
// later call waits for the same.
int bertha_drain(uint64_t connection,
                 int64_t milliseconds);

// Sends what the stack holds back, tells the peer, and closes the connection, whose handle is still to be released. When the time is up,
// the work goes on, and a later call waits for the same.
//
// A client closes its connection, and its calls fail. A service takes no further calls; those under way have this time to be
// answered; the function returns once no callback runs, and is BERTHA_INVALID in a callback of the service.
int bertha_close(uint64_t handle,
                 int64_t milliseconds);

// Changes the stack to another alternative, counted from 0, of its first choice, while messages flow. Both ends need the option
// upgradable. When the time is up, the work goes on, and a later call waits for the same.
int bertha_upgrade(uint64_t connection,
                   uint32_t alternative,
                   int64_t milliseconds);

// Writes the stack of a connection or a client, and the reasons for it, as text with a zero at its end, and the length without the zero. If there is no room,
// the function returns BERTHA_TOO_LARGE, and writes the length alone: with a capacity of 0 it only asks for the length.
int bertha_explain(uint64_t connection,
                   char *text,
                   size_t capacity,
                   size_t *length);

// Writes the state of each layer as text, a line for each, as bertha_explain writes.
int bertha_statistics_text(uint64_t connection, char *text, size_t capacity, size_t *length);

// Writes the address of the peer, also of a client and of a call that has arrived, as bertha_explain writes.
int bertha_peer_address(uint64_t connection, char *text, size_t capacity, size_t *length);

// Writes the address of this end, as bertha_explain writes.
int bertha_local_address(uint64_t connection, char *text, size_t capacity, size_t *length);

// Writes the identity that the peer has proved, such as its certificate, or a text of length 0 if there is none, also of a client
// and of a call that has arrived, as bertha_explain writes.
int bertha_peer_identity(uint64_t connection,
                         char *text,
                         size_t capacity,
                         size_t *length);

// Writes figures of a connection.
int bertha_statistics(uint64_t connection, struct bertha_figures *figures);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BERTHA_H */
