package dev.bowline.example

import dev.bowline.*
import kotlinx.coroutines.flow.first

/** The example of bindings/README.md; `.ci/covered.py` compares the two. */
suspend fun readme() {
    val engine = Bowline.engine()
    engine.start(DialogueConfiguration(cwd = "/some/project")).use { session ->
        session.send("What is in this folder?")
        val idle = session.transcripts().first { transcript ->
            transcript.permissions.filter { it.state == PermissionState.OPEN }
                .forEach { session.deny(it.requestId, "read-only session") }
            transcript.phase == Phase.IDLE && transcript.entries.isNotEmpty()
        }
        println(idle.toJson())
        session.end()
    }
}
