"""A proxy of a server on this machine that ends a response once nothing of it follows for a moment.

A fuzzer waits for the end of each response, and a stream of events has none. The requests are passed on as those of
HTTP/1.0, whose responses end with their connection. Prints its port.
"""

import socket
import socketserver
import sys
import threading

SILENCE = 0.3  # seconds after which a response that has begun is ended
TIMEOUT = 30  # seconds that a response may take to begin

host, port = sys.argv[1].rsplit(":", 1)


def copy(source, to):
    try:
        while part := source.recv(65536):
            to.sendall(part)
    except OSError:
        pass


class Proxy(socketserver.BaseRequestHandler):
    def handle(self):
        client, data = self.request, b""
        while b"\r\n\r\n" not in data:
            part = client.recv(65536)
            if not part:
                return
            data += part
        head, body = data.split(b"\r\n\r\n", 1)
        request, *headers = head.split(b"\r\n")
        headers = [it for it in headers if not it.lower().startswith((b"host:", b"connection:"))]
        headers += [b"Host: %s:%s" % (host.encode(), port.encode()), b"Connection: close"]
        head = b"\r\n".join([request.replace(b"HTTP/1.1", b"HTTP/1.0"), *headers])
        with socket.create_connection((host, int(port)), TIMEOUT) as server:
            server.sendall(head + b"\r\n\r\n" + body)
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            try:
                while part := server.recv(65536):
                    client.sendall(part)
                    server.settimeout(SILENCE)
            except OSError:
                pass
        try:
            client.shutdown(socket.SHUT_RDWR)  # also ends the thread
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


with Server(("127.0.0.1", 0), Proxy) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
