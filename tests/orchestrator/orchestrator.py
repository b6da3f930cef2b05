"""Runs dialogues at a runner: orchestrator.py SOCKET AGENT COUNT

Each request has a key, so that it may be repeated: this program and the runner may be killed and started again.
"""

import contextlib
import http.client
import json
import socket
import sys
import threading
import time

SOCKET, AGENT, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])


def documents(method, path, key="-", body=None):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    while True:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):  # the runner is being restarted
            connection = http.client.HTTPConnection("localhost")
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(30)  # an idle stream has a comment every 10 s
            connection.sock.connect(SOCKET)
            connection.request(method, path, body and json.dumps(body), headers)
            response = connection.getresponse()
            for line in response:
                if line.startswith(b"id: "):
                    headers["Last-Event-ID"] = line[4:].strip().decode()
                elif line.startswith((b"{", b"data: ")):
                    document = json.loads(line.removeprefix(b"data: "))
                    if response.status < 500 and document.get("code") != "REQUEST_IN_PROGRESS":
                        assert response.status < 300, document
                        yield document
        time.sleep(0.1)


def call(method, path, key="-", body=None):
    return next(documents(method, f"/api/sessions{path}", key, body))


for job in range(COUNT):
    body = {"agent": AGENT, "agent_args": ["--pace", "0"], "prompt": f"/ask job {job}", "labels": {"job": str(job)}}
    threading.Thread(target=call, args=("POST", "", f"start {job}", body), daemon=True).start()
done, events = set(), documents("GET", "/api/events?types=permission,phase")
while len(done) < COUNT:
    event = next(events)
    path = f"/{event['session']}"
    if event["type"] == "permission" and event["state"] == "open":
        job = call("GET", path)["labels"]["job"]
        first, second = [call("POST", f"{path}/prompt", it, {"text": it, "queue": True})["id"] for it in ("one", "two")]
        call("PATCH", f"{path}/queue/{first}", "edit", {"text": f"final {job}"})
        call("DELETE", f"{path}/queue/{second}", "cancel")
        call("POST", f"{path}/permissions", "answer", {"request_id": event["request_id"], "decision": "allow"})
        print("answered", job, flush=True)
    elif event["type"] == "phase" and event["phase"] == "idle":
        entries = call("GET", f"{path}/transcript")["entries"]
        if sum(entry["kind"] == "result" for entry in entries) == 2:
            done.add(path)
print("results", len(done))
