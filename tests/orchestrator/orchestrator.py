"""Runs dialogues at a runner: starts them over REST, follows /api/events, answers what they ask, and edits a queue.

Each start has a key, and each prompt and change an id that follows from its job, so that all of it may be repeated.
It may be killed and started again at any moment, and so may the runner. Usage: orchestrator.py SOCKET AGENT COUNT
"""

import http.client
import json
import socket
import sys
import threading
import time
import uuid

SOCKET, AGENT, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])


def name(kind, job):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{job}"))


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)  # a comment comes every 10 s
        self.sock.connect(SOCKET)


def call(method, path, body=None, key=None):
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    while True:
        try:
            connection = Connection("localhost")
            connection.request(method, f"/api/sessions{path}", body and json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status < 500 and answer.get("code") != "REQUEST_IN_PROGRESS":
                assert response.status < 300 or answer["code"] == "PERMISSION_CLOSED", answer
                return answer
        except (OSError, ValueError, http.client.HTTPException):
            pass  # the runner is being restarted
        time.sleep(0.1)


def start(job):
    body = {"agent": AGENT, "agent_args": ["--pace", "0"], "prompt": f"/ask job {job}", "labels": {"job": str(job)}}
    call("POST", "", body, name("session", job))


def edit_queue(session, job):
    first, second = name("first", job), name("second", job)
    for prompt, text in ((first, "draft"), (second, "dropped")):
        call("POST", f"/{session}/prompt", {"text": text, "id": prompt, "queue": True})
    call("PATCH", f"/{session}/queue/{first}", {"text": f"final {job}"}, "edit")
    call("DELETE", f"/{session}/queue/{second}", key="cancel")


def events():
    last = {}
    while True:
        try:
            connection = Connection("localhost")
            connection.request("GET", "/api/events?types=created,permission,phase", headers=last)
            for line in connection.getresponse():
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "id":
                    last = {"Last-Event-ID": value}
                elif field == "data":
                    yield json.loads(value)
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)


threading.Thread(target=lambda: [start(job) for job in range(COUNT)], daemon=True).start()
jobs, done = {}, set()
for event in events():
    session = event["session"]
    if event["type"] == "created":
        jobs[session] = event["labels"]["job"]
    elif event["type"] == "permission" and event["state"] == "open":
        edit_queue(session, jobs[session])
        answer = {"request_id": event["request_id"], "decision": "allow", "by": "orchestrator"}
        call("POST", f"/{session}/permissions", answer)
        print(f"answered {jobs[session]}", flush=True)
    elif event["type"] == "phase" and event["phase"] == "idle" and session in jobs:
        entries = call("GET", f"/{session}/transcript")["entries"]
        if sum(entry["kind"] == "result" for entry in entries) == 2:
            done.add(jobs[session])
    if len(done) == COUNT:
        print(f"results {len(done)}", flush=True)
        break
