package dev.bowline.example

import dev.bowline.*
import kotlinx.coroutines.flow.first

/** The lines of bindings/README.md: `.ci/covered.py` compares them. */
suspend fun readme() {
    val engine = Bowline.engine()
    engine.start(DialogueConfiguration(cwd = "/some/project")).use { session ->
        session.say("What is in this folder?")
        val idle = session.transcripts().first { transcript ->
            transcript.permissions.filter { it.state == PermissionState.OPEN }
                .forEach { session.deny(it.requestId, "look, do not touch") }
            transcript.phase == Phase.IDLE && transcript.entries.isNotEmpty()
        }
        println(idle.toJson())
        session.end()
    }
}
