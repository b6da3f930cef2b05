package dev.bowline

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.async
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class MisuseTest {
    @Test
    fun `a session that has ended refuses and still tells`() = live {
        session { session ->
            session.say("hello").settled()
            assertEquals(session.terminate(), session.terminate())
            refused<BowlineException.Ended> { session.say("x") }
            refused<BowlineException.Ended> { session.interrupt() }
            refused<BowlineException.Ended> { session.setModel(null) }
            refused<BowlineException.Ended> { session.allow("x") }
            refused<BowlineException.Ended> { session.pause() }
            session.snapshot().use { assertTrue("hello" in it.json()) }
        }
    }

    @Test
    fun `a closed object says so`() = live {
        val session = engine.start(configuration())
        session.terminate()
        session.close()
        session.close()
        assertThrows(IllegalStateException::class.java) { session.id() }
    }

    @Test
    fun `an answer to a request that is not there is refused`() = live {
        session { session ->
            session.say("hello").settled()
            refused<BowlineException.NotFound> { session.allow("no-such-request") }
            refused<BowlineException.Invalid> { session.send(Prompt(emptyList())) }
            val receipt = session.say("again", uuid = "00000000-0000-4000-8000-000000000001")
            receipt.settled()
            refused<BowlineException.Invalid> { session.say("again", uuid = "00000000-0000-4000-8000-000000000001") }
        }
    }

    @Test
    fun `many threads use one session`() = live {
        session { session ->
            withContext(Dispatchers.IO) {
                val readers = List(8) { launch { session.until { it.results().isNotEmpty() } } }
                val prompts = List(4) { n -> async { session.say("prompt $n").settled() } }
                val callers = List(8) { launch { repeat(200) { session.hasEnded() } } }
                prompts.awaitAll()
                (readers + callers).forEach { it.join() }
            }
        }
    }

    @Test
    fun `huge and broken texts go through`() = live {
        session { session ->
            val huge = "é😀x".repeat(100_000)
            session.say(huge).settled()
            session.say("broken \u0000 nul").settled()
            // Half of a surrogate pair is no text.
            assertThrows(CharacterCodingException::class.java) { runBlocking { session.say("half \ud83d of it") } }
            val transcript = session.until { it.results().size == 2 }
            val prompts = transcript.entries.mapNotNull { (it.value as? EntryKind.User)?.text }
            assertTrue(prompts.any { it == huge })
            assertTrue(prompts.any { it.startsWith("broken ") && it.endsWith(" nul") })
        }
    }
}
