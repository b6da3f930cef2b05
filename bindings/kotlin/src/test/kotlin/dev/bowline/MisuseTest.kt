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
    fun `ended session refuses calls but keeps its transcript`() = runTest {
        session { session ->
            session.send("hello").waitUntilSettled()
            assertEquals(session.terminate(), session.terminate())
            assertThrowsBowline<BowlineException.Ended> { session.send("x") }
            assertThrowsBowline<BowlineException.Ended> { session.interrupt() }
            assertThrowsBowline<BowlineException.Ended> { session.setModel(null) }
            assertThrowsBowline<BowlineException.Ended> { session.allow("x") }
            assertThrowsBowline<BowlineException.Ended> { session.pause() }
            session.snapshot().use { assertTrue("hello" in it.json()) }
        }
    }

    @Test
    fun `closed object throws IllegalStateException`() = runTest {
        val session = engine.start(configuration())
        session.terminate()
        session.close()
        session.close()
        assertThrows(IllegalStateException::class.java) { session.id() }
    }

    @Test
    fun `unknown request and repeated uuid are refused`() = runTest {
        session { session ->
            session.send("hello").waitUntilSettled()
            assertThrowsBowline<BowlineException.NotFound> { session.allow("no-such-request") }
            assertThrowsBowline<BowlineException.Invalid> { session.send(Prompt(emptyList())) }
            val receipt = session.send("again", uuid = "00000000-0000-4000-8000-000000000001")
            receipt.waitUntilSettled()
            assertThrowsBowline<BowlineException.Invalid> { session.send("again", uuid = "00000000-0000-4000-8000-000000000001") }
        }
    }

    @Test
    fun `many threads use one session`() = runTest {
        session { session ->
            withContext(Dispatchers.IO) {
                val readers = List(8) { launch { session.until { it.results().isNotEmpty() } } }
                val prompts = List(4) { n -> async { session.send("prompt $n").waitUntilSettled() } }
                val callers = List(8) { launch { repeat(200) { session.hasEnded() } } }
                prompts.awaitAll()
                (readers + callers).forEach { it.join() }
            }
        }
    }

    @Test
    fun `large and unusual texts are passed unchanged`() = runTest {
        session { session ->
            val huge = "é😀x".repeat(100_000)
            session.send(huge).waitUntilSettled()
            session.send("broken \u0000 nul").waitUntilSettled()
            // An unpaired surrogate cannot be encoded.
            assertThrows(CharacterCodingException::class.java) { runBlocking { session.send("half \ud83d of it") } }
            val transcript = session.until { it.results().size == 2 }
            val prompts = transcript.entries.mapNotNull { (it.value as? EntryKind.User)?.text }
            assertTrue(prompts.any { it == huge })
            assertTrue(prompts.any { it.startsWith("broken ") && it.endsWith(" nul") })
        }
    }
}
